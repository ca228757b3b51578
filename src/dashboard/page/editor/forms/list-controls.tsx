import { useId } from 'preact/hooks';
import { Field } from '../../ui/field.js';
import { useDraft } from '../draft/draft.js';
import { isList, type Json, textOf } from '../file/json.js';
import { problemAt } from '../file/problems.js';
import { referenceOptions } from '../file/references.js';
import { type ControlProps, useValue } from './use-value.js';

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
