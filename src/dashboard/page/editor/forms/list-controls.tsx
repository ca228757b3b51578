import { useId, useRef, useState } from 'preact/hooks';
import { Field } from '../../ui/field.js';
import { type ControlProps, FieldControl, useValue } from './controls.js';
import { useDraft } from '../draft/draft.js';
import type { FormField } from '../file/form-fields.js';
import { isList, type Json, textOf } from '../file/json.js';
import { problemAt } from '../file/problems.js';
import { referenceOptions } from '../file/references.js';

/** Some of a few words: a box for each. */
export function ChoicesControl({ options, ...props }: ControlProps & { readonly options: readonly string[] }) {
  const { field } = props;
  const { value, change } = useValue(props);
  const { problems } = useDraft();
  const problem = problemAt(problems, props.path, true);
  const id = useId();
  const chosen = isList(value) ? value : [];
  return (
    <fieldset class="choices" aria-describedby={problem === undefined ? undefined : id}>
      <legend>{field.text.label}</legend>
      {options.map((option) => (
        <label key={option}>
          <input
            type="checkbox"
            checked={chosen.includes(option)}
            onChange={(event) => {
              const { checked } = event.currentTarget;
              change(options.filter((each) => (each === option ? checked : chosen.includes(each))));
            }}
          />{' '}
          <span>{option}</span>
        </label>
      ))}
      {field.text.help !== undefined && <p class="hint">{field.text.help}</p>}
      {problem !== undefined && (
        <p class="problem" id={id}>
          {problem}
        </p>
      )}
    </fieldset>
  );
}

/** Keys of other objects: a list, and a selection that adds to it. */
export function ReferencesControl({ to, ...props }: ControlProps & { readonly to: string }) {
  const { field, path } = props;
  const { value, change } = useValue(props);
  const { file, problems } = useDraft();
  const chosen = isList(value) ? value : [];
  const options = referenceOptions(file, to);
  const labelOf = (key: Json): string => options.find((option) => option.value === key)?.label ?? `${textOf(key)} (not in use)`;
  const left = options.filter((option) => !chosen.includes(option.value));
  const remove = (at: number): void => {
    const others = chosen.filter((_key, index) => index !== at);
    change(others.length === 0 ? undefined : others);
  };
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problemAt(problems, path, true)}>
      {({ id, describedBy, isInvalid }) => (
        <>
          {chosen.length > 0 && (
            <ul class="chosen">
              {chosen.map((key, at) => (
                <li key={textOf(key)}>
                  <span>{labelOf(key)}</span>
                  <button type="button" class="plain" aria-label={`Remove ${textOf(key)}`} onClick={() => remove(at)}>
                    ×
                  </button>
                </li>
              ))}
            </ul>
          )}
          <select
            id={id}
            value=""
            aria-describedby={describedBy}
            aria-invalid={isInvalid}
            disabled={left.length === 0}
            onChange={(event) => {
              if (event.currentTarget.value !== '') change([...chosen, event.currentTarget.value]);
              event.currentTarget.value = '';
            }}
          >
            <option value="">{left.length === 0 ? 'No others' : `Add ${to}`}</option>
            {left.map((option) => (
              <option key={option.value} value={option.value}>
                {option.label}
              </option>
            ))}
          </select>
        </>
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
export function RowsControl({ fields, ...props }: ControlProps & { readonly fields: readonly FormField[] }) {
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

/** Anything that the page has no control for. */
export function JsonControl(props: ControlProps) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  const [typed, setTyped] = useState<string>();
  const [fault, setFault] = useState<string>();
  const shown = value === undefined ? '' : JSON.stringify(value, null, 2);
  return (
    <Field label={field.text.label} hint={field.text.help ?? 'As JSON.'} problem={fault ?? problem}>
      {({ id, describedBy, isInvalid }) => (
        <textarea
          id={id}
          class="json"
          value={typed ?? shown}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          onInput={(event) => {
            const text = event.currentTarget.value;
            setTyped(text);
            try {
              change(text.trim() === '' ? undefined : (JSON.parse(text) as Json));
              setFault(undefined);
            } catch {
              setFault('This is not JSON yet: the draft has the last valid value.');
            }
          }}
          onBlur={() => fault === undefined && setTyped(undefined)}
        />
      )}
    </Field>
  );
}
