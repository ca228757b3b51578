import type { ComponentChildren } from 'preact';
import { useScope } from '../../scope/scope.js';
import { readOnlyReason } from '../../ui/change-button.js';
import { fileOf } from '../file/api.js';
import { FieldControl } from './controls.js';
import { useDraft } from '../draft/draft.js';
import type { FieldText, FormField } from '../file/form-fields.js';
import { fieldOf, isObject, type JsonObject, type Path, valueAt } from '../file/json.js';
import { keptFields } from '../file/schema-parts.js';

interface ObjectFormProps {
  readonly schema: JsonObject;
  readonly texts: Readonly<Record<string, FieldText>>;
  /** Of the object in the file. */
  readonly path: Path;
  /** Fields that the screen shows in another way. */
  readonly without?: readonly string[];
}

/** Every field of an object, by the schema of the file. Fields of other variants are hidden. */
export function ObjectForm({ schema, texts, path, without = [] }: ObjectFormProps) {
  const { file, current, schema: fileSchema } = useDraft();
  const by = fileSchema.variantField(schema);
  const variant = by === undefined ? undefined : valueAt(file, [...path, by]);
  const fields = fileSchema.fields(schema, texts, variant).filter(({ name }) => !without.includes(name));
  const kept = keptFields(schema, { file, applied: fileOf(current) }, path);
  return (
    <Changeable>
      {kept.length > 0 && (
        <p class="hint">
          What it has counted so far depends on the fields that are disabled. To change them, add another one under another key.
        </p>
      )}
      <div class="form-grid">
        {fields.map((field) => (
          <fieldset key={field.name} class={isWide(field) ? 'plain wide' : 'plain'} role="none" disabled={kept.includes(field.name)}>
            {field.name === by ? (
              <VariantControl field={field} path={path} schema={schema} />
            ) : (
              <FieldControl field={field} path={[...path, field.name]} />
            )}
          </fieldset>
        ))}
      </div>
    </Changeable>
  );
}

/** Boxes that fit beside other fields. */
const mostBeside = 4;

/** Whether a control needs the whole width of a form. */
const isWide = ({ control, text }: FormField): boolean =>
  ['rows', 'references', 'json'].includes(control.kind) ||
  (control.kind === 'choices' && control.options.length > mostBeside) ||
  (control.kind === 'map' && control.fields.length > 1) ||
  text.isLong === true;

/** Controls that a read-only key can't use, and says why. */
export function Changeable({ children }: { readonly children: ComponentChildren }) {
  const { canChange } = useScope();
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <fieldset class="plain" disabled={!canChange} title={canChange ? undefined : readOnlyReason}>
        {children}
      </fieldset>
    </form>
  );
}

interface VariantControlProps {
  readonly field: FormField;
  /** Of the object. */
  readonly path: Path;
  readonly schema: JsonObject;
}

/** The field that decides which other fields there are: those of the old value go with it, because the service refuses them. */
function VariantControl({ field, path, schema }: VariantControlProps) {
  const { file, schema: fileSchema, set } = useDraft();
  const value = valueAt(file, path);
  const select = (chosen: string): void => {
    const names = fileSchema.fields(schema, {}, chosen).map(({ name }) => name);
    const all = fileSchema.allFields(schema);
    const object = isObject(value) ? value : {};
    const kept = Object.entries(object).filter(([name]) => !all.includes(name) || names.includes(name));
    set(path, { ...Object.fromEntries(kept), [field.name]: chosen });
  };
  const options = field.control.kind === 'choice' ? field.control.options : [];
  const chosen = isObject(value) ? fieldOf(value, field.name) : undefined;
  return (
    <fieldset class="choices">
      <legend>{field.text.label}</legend>
      {options.map((option) => (
        <label key={option}>
          <input type="radio" name={path.join('.') + field.name} checked={chosen === option} onChange={() => select(option)} />{' '}
          <span>{labelOfOption(option)}</span>
        </label>
      ))}
      {field.text.help !== undefined && <p class="hint">{field.text.help}</p>}
    </fieldset>
  );
}

const labelOfOption = (option: string): string => option.replaceAll('_', ' ');
