import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useScope } from '../../scope/scope.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { useDraft } from '../draft/draft.js';
import { identityOf, isKeyedList, type Json, type JsonObject, type Path, valueAt } from '../file/json.js';
import { keyProblem, suggestKey } from '../file/keys.js';
import type { PartText } from './parts.js';

interface NewObjectProps {
  readonly list: string;
  /** Of the list in the file. */
  readonly path: Path;
  readonly text: PartText;
  readonly schema: JsonObject;
  /** The address of the editor; without it, the list edits its objects in place. */
  readonly editor?: (identity: string) => string;
  readonly onClose: () => void;
}

/** Asks for what an object is, which can't be changed later, and opens its editor. */
export function NewObject({ list, path, text, schema, editor, onClose }: NewObjectProps) {
  const { href } = useScope();
  const { route } = useLocation();
  const { file, schema: fileSchema, set } = useDraft();
  const [name, setName] = useState('');
  const [typedKey, setTypedKey] = useState<string>();
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const all = valueAt(file, path);
  const objects = isKeyedList(all) ? all : [];
  const fields = fileSchema.fields(schema, text.fields, chosen[fileSchema.variantField(schema) ?? '']);
  const hasName = fields.some((field) => field.name === 'name');
  // What must be chosen from a few words.
  const choices = fields.flatMap((field) =>
    field.isRequired && field.control.kind === 'choice' ? [{ field, options: field.control.options }] : [],
  );
  const values = Object.fromEntries(choices.map(({ field, options }) => [field.name, chosen[field.name] ?? options[0] ?? '']));
  const identities = objects.map((object) => identityOf(list, object));
  const key =
    typedKey ??
    suggestKey(
      name,
      objects.map((object) => object.key),
    );
  const object = { key, ...(hasName ? { name } : {}), ...values };
  const problem =
    keyProblem(key) ?? (identities.includes(identityOf(list, object)) ? `There is another ${text.singular} with this key.` : undefined);
  const add = (event: SubmitEvent): void => {
    event.preventDefault();
    if (problem !== undefined) return;
    const added: Json = object;
    set(path, [...objects, added]);
    onClose();
    if (editor) route(href(editor(identityOf(list, object))));
  };
  return (
    <Dialog title={`Add ${text.singular}`} onClose={onClose}>
      <form onSubmit={add}>
        {hasName && <TextField label="Name" value={name} onChange={setName} isRequired />}
        <TextField
          label="Key"
          hint="In the addresses of calls and in files. It can’t be changed later."
          value={key}
          onChange={setTypedKey}
          isRequired
          problem={key === '' ? undefined : problem}
        />
        {choices.map(({ field, options }) => (
          <SelectField
            key={field.name}
            label={field.text.label}
            hint={field.text.help}
            value={values[field.name] ?? ''}
            options={options.map((option) => ({ value: option, label: option.replaceAll('_', ' ') }))}
            onChange={(value) => setChosen({ ...chosen, [field.name]: value })}
          />
        ))}
        <footer class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={problem !== undefined}>
            Add {text.singular}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
