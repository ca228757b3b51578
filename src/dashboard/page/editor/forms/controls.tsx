import { useState } from 'preact/hooks';
import { Field, SelectField } from '../../ui/field.js';
import { useDraft } from '../draft/draft.js';
import type { FieldText } from './field-texts.js';
import type { Control, FormField } from '../file/form-fields.js';
import { isList, isObject, type Json, type Path, textOf, valueAt } from '../file/json.js';
import { ChoicesControl, JsonControl, ReferencesControl, RowsControl } from './list-controls.js';
import { finishedNumber, typedNumber, typedWords } from '../file/numbers.js';
import { problemAt } from '../file/problems.js';
import { referenceOptions } from '../file/references.js';

export interface ControlProps {
  readonly field: FormField;
  /** Of the value in the file. */
  readonly path: Path;
}

/** The value of a field in the draft, what is wrong with it, and how to change it. An empty value leaves the field out, or is null where that is a value. */
export function useValue({ field, path }: ControlProps): {
  readonly value: Json | undefined;
  readonly problem: string | undefined;
  readonly change: (value: Json | undefined) => void;
} {
  const { file, set, problems } = useDraft();
  return {
    value: valueAt(file, path),
    problem: problemAt(problems, path),
    change: (value) => {
      set(path, value === undefined && field.isNullable ? null : value);
    },
  };
}

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

/** Preact has a type for each kind of input. These differ in nothing else. */
const asText = (type: 'text' | 'date' | 'time'): 'text' => type as 'text';

function TextControl({ control, ...props }: ControlProps & { readonly control: Extract<Control, { kind: 'text' }> }) {
  const { field } = props;
  const { value, problem, change } = useValue(props);
  const type = control.format === 'date' ? 'date' : control.format === 'time' ? 'time' : 'text';
  return (
    <Field label={field.text.label} hint={field.text.help} problem={problem}>
      {({ id, describedBy, isInvalid }) => {
        const common = {
          ...{ id, value: textOf(value), required: field.isRequired, 'aria-describedby': describedBy, 'aria-invalid': isInvalid },
          onInput: (event: { currentTarget: { value: string } }) => {
            change(event.currentTarget.value === '' ? undefined : event.currentTarget.value);
          },
        };
        return field.text.isLong ? <textarea {...common} rows={8} /> : <input {...common} type={asText(type)} />;
      }}
    </Field>
  );
}

function NumberControl(props: ControlProps) {
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

function BooleanControl(props: ControlProps) {
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

function optionsOf(words: readonly string[], labels: FieldText['options']): Option[] {
  if (!labels) return words.map((word) => ({ value: word, label: word }));
  return Object.entries(labels).flatMap(([value, label]) => (words.includes(value) ? [{ value, label }] : []));
}

interface Option {
  readonly value: string;
  readonly label: string;
}

/** A selection of one word. What the draft has is an option even if it is none, so that it is not lost. */
function ChoiceControl({ options, ...props }: ControlProps & { readonly options: readonly Option[] }) {
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

function ReferenceControl({ to, ...props }: ControlProps & { readonly to: string }) {
  const { file } = useDraft();
  return <ChoiceControl {...props} options={referenceOptions(file, to)} />;
}

/** Words with commas between. The text is kept as it is typed until the operator leaves the field. */
function WordsControl({ areNumbers, ...props }: ControlProps & { readonly areNumbers: boolean }) {
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
