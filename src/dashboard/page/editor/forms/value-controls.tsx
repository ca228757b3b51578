import { useState } from 'preact/hooks';
import { Field, SelectField } from '../../ui/field.js';
import { useDraft } from '../draft/draft.js';
import type { Control } from '../file/form-fields.js';
import { isList, type Json, textOf } from '../file/json.js';
import { finishedNumber, typedNumber, typedWords } from '../file/numbers.js';
import { referenceOptions } from '../file/references.js';
import { type ControlProps, useValue } from './use-value.js';

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** Preact has a type for each kind of input. These differ in nothing else. */
const asText = (type: 'text' | 'date' | 'time'): 'text' => type as 'text';

export function TextControl({ control, ...props }: ControlProps & { readonly control: Extract<Control, { kind: 'text' }> }) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  const type = control.format === 'date' ? 'date' : control.format === 'time' ? 'time' : 'text';
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problem}>
      {({ id, describedBy, isInvalid }) => {
        const common = {
          id,
          value: textOf(value),
          required: field.isRequired,
          'aria-describedby': describedBy,
          'aria-invalid': isInvalid,
          onInput: (event: { currentTarget: { value: string } }) => {
            change(event.currentTarget.value === '' ? undefined : event.currentTarget.value);
          },
        };
        return field.text.isLong ? <textarea {...common} rows={8} /> : <input {...common} type={asText(type)} />;
      }}
    </Field>
  );
}

export function NumberControl(props: ControlProps) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problem}>
      {({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          type="text"
          inputMode="decimal"
          class="short"
          value={textOf(value)}
          required={field.isRequired}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          placeholder={typeof field.default === 'number' ? String(field.default) : undefined}
          onInput={(event) => change(typedNumber(event.currentTarget.value))}
          onBlur={() => {
            const finished = finishedNumber(value);
            if (finished !== value) change(finished);
          }}
        />
      )}
    </Field>
  );
}

export function BooleanControl(props: ControlProps) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problem}>
      {({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          type="checkbox"
          class="check"
          checked={(value ?? field.default) === true}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          onChange={(event) => change(event.currentTarget.checked)}
        />
      )}
    </Field>
  );
}

/** A selection of one word. What the draft has is an option even if it is none, so that it is not lost. */
export function ChoiceControl({ options, ...props }: ControlProps & { readonly options: readonly Option[] }) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  const text = textOf(value);
  const none = typeof field.default === 'string' && field.default !== '' ? `${field.default} (default)` : 'None';
  const known = text === '' || options.some((option) => option.value === text);
  const hasNone = !field.isRequired || text === '';
  const all = [
    ...(hasNone ? [{ value: '', label: field.isRequired ? 'Choose' : none }] : []),
    ...options,
    ...(known ? [] : [{ value: text, label: `${text} (not in use)` }]),
  ];
  return (
    <SelectField
      label={field.text.label}
      hint={field.text.help}
      problem={problem}
      value={text}
      options={all}
      onChange={(chosen) => change(chosen === '' ? undefined : chosen)}
    />
  );
}

export function ReferenceControl({ to, ...props }: ControlProps & { readonly to: string }) {
  const { file } = useDraft();
  return <ChoiceControl {...props} options={referenceOptions(file, to)} />;
}

/** Words with commas between. The text is kept as it is typed until the operator leaves the field. */
export function WordsControl({ areNumbers, ...props }: ControlProps & { readonly areNumbers: boolean }) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  const [typed, setTyped] = useState<string>();
  const shown = isList(value) ? value.map(textOf).join(', ') : textOf(value);
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problem}>
      {({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          type="text"
          value={typed ?? shown}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            change(typedWords(event.currentTarget.value, areNumbers));
          }}
          onBlur={() => setTyped(undefined)}
        />
      )}
    </Field>
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
