import { useRef } from 'preact/hooks';
import { Field } from '../../ui/field.js';
import { useDraft } from '../draft/draft.js';
import type { FieldText, FormField } from '../file/form-fields.js';
import { isList, isObject, textOf, valueAt } from '../file/json.js';
import { problemAt } from '../file/problems.js';
import { ChoicesControl, ReferencesControl } from './list-controls.js';
import { type ControlProps, useValue } from './use-value.js';
import {
  BooleanControl,
  ChoiceControl,
  JsonControl,
  NumberControl,
  type Option,
  ReferenceControl,
  TextControl,
  WordsControl,
} from './value-controls.js';

/** The control of a field, chosen by its schema. */
export function FieldControl(props: ControlProps) {
  const { control } = props.field;
  switch (control.kind) {
    case 'text':
      return <TextControl {...props} control={control} />;
    case 'number':
      return <NumberControl {...props} />;
    case 'boolean':
      return <BooleanControl {...props} />;
    case 'choice':
      return <ChoiceControl {...props} options={optionsOf(control.options, props.field.text.options)} />;
    case 'reference':
      return <ReferenceControl {...props} to={control.to} />;
    case 'words':
      return <WordsControl {...props} areNumbers={control.areNumbers} />;
    case 'choices':
      return <ChoicesControl {...props} options={control.options} />;
    case 'references':
      return <ReferencesControl {...props} to={control.to} />;
    case 'map':
      return <MapControl {...props} fields={control.fields} />;
    case 'rows':
      return <RowsControl {...props} fields={control.fields} />;
    case 'json':
      return <JsonControl {...props} />;
  }
}

function optionsOf(words: readonly string[], labels: FieldText['options']): Option[] {
  if (!labels) return words.map((word) => ({ value: word, label: word }));
  return Object.entries(labels).flatMap(([value, label]) => (words.includes(value) ? [{ value, label }] : []));
}

/** A map of fields in a frame; one with a single field shows that alone. An empty map is left out. */
function MapControl({ fields, ...props }: ControlProps & { readonly fields: readonly FormField[] }) {
  const { field, path } = props;
  const { file, set } = useDraft();
  const [only] = fields;
  if (only && fields.length === 1) return <OnlyField {...props} only={only} />;
  const value = valueAt(file, path);
  return (
    <fieldset class="map">
      <legend>{field.text.label}</legend>
      {field.text.help !== undefined && <p class="hint">{field.text.help}</p>}
      <div class="form-grid">
        {fields.map((each) => (
          <FieldControl key={each.name} field={each} path={[...path, each.name]} />
        ))}
      </div>
      {isObject(value) && !field.isRequired && (
        <button type="button" onClick={() => set(path, undefined)}>
          Clear {field.text.label.toLowerCase()}
        </button>
      )}
    </fieldset>
  );
}

function OnlyField({ field, path, only }: ControlProps & { readonly only: FormField }) {
  const { file, problems, set } = useDraft();
  const value = valueAt(file, [...path, only.name]);
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problemAt(problems, path, true)}>
      {({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          type="text"
          value={textOf(value)}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          onInput={(event) => {
            const text = event.currentTarget.value;
            set(path, text === '' ? undefined : { [only.name]: text });
          }}
        />
      )}
    </Field>
  );
}

/** An id for each row of a list, which stays with its row when another one is removed. */
function useRowIds(count: number): { readonly ids: readonly number[]; readonly remove: (at: number) => void } {
  const ids = useRef<number[]>([]);
  const last = useRef(0);
  // The list may also change outside of its control: when the draft is discarded.
  ids.current.length = Math.min(ids.current.length, count);
  while (ids.current.length < count) ids.current.push((last.current += 1));
  return { ids: ids.current, remove: (at) => ids.current.splice(at, 1) };
}

/** Maps of fields, one row each: filters, streak conditions. */
function RowsControl({ fields, ...props }: ControlProps & { readonly fields: readonly FormField[] }) {
  const { field, path } = props;
  const { value, problem, change } = useValue(props);
  const rows = isList(value) ? value : [];
  const { ids, remove } = useRowIds(rows.length);
  const adding = useRef<HTMLButtonElement>(null);
  return (
    <fieldset class="rows">
      <legend>{field.text.label}</legend>
      {field.text.help !== undefined && <p class="hint">{field.text.help}</p>}
      {rows.map((_row, at) => (
        <div class="row" key={ids[at]}>
          {fields.map((each) => (
            <FieldControl key={each.name} field={each} path={[...path, at, each.name]} />
          ))}
          <button
            type="button"
            aria-label={`Remove row ${at + 1}`}
            onClick={() => {
              const others = rows.filter((_each, index) => index !== at);
              remove(at);
              change(others.length === 0 && !field.isRequired ? undefined : others);
              // The button that has the focus is removed with its row.
              adding.current?.focus();
            }}
          >
            Remove
          </button>
        </div>
      ))}
      {problem !== undefined && <p class="problem">{problem}</p>}
      <button ref={adding} type="button" onClick={() => change([...rows, {}])}>
        Add
      </button>
    </fieldset>
  );
}
