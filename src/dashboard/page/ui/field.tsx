import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  /** What the value means, below the control. */
  readonly hint?: ComponentChildren;
  /** What is wrong with the value, in the words of the service. */
  readonly problem?: string | undefined;
  /** Renders the control; `id` connects it to its label, `describedBy` to its hint and problem. */
  readonly children: (control: {
    readonly id: string;
    readonly describedBy: string | undefined;
    readonly isInvalid: boolean;
  }) => ComponentChildren;
}

/** A labelled control of a form. */
export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId();
  const notes = [hint === undefined ? undefined : `${id}-hint`, problem === undefined ? undefined : `${id}-problem`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, describedBy: notes.length > 0 ? notes.join(' ') : undefined, isInvalid: problem !== undefined })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'search' | 'number' | 'date' | 'datetime-local' | 'email' | 'url';
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
  readonly placeholder?: string;
  /** The step of a number: `any` allows decimals. */
  readonly step?: 'any' | undefined;
}

/** Preact has a type for each kind of input. Those of TextField differ in nothing else. */
const asText = (type: NonNullable<TextFieldProps['type']>): 'text' => type as 'text';

export function TextField({ value, onChange, type = 'text', isRequired, isDisabled, placeholder, step, ...field }: TextFieldProps) {
  return (
    <Field {...field}>
      {({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          type={asText(type)}
          value={value}
          required={isRequired}
          disabled={isDisabled}
          placeholder={placeholder}
          step={step}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          onInput={(event) => {
            onChange(event.currentTarget.value);
          }}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly isDisabled?: boolean;
}

export function SelectField({ value, onChange, options, isDisabled, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {({ id, describedBy, isInvalid }) => (
        <select
          id={id}
          value={value}
          disabled={isDisabled}
          aria-describedby={describedBy}
          aria-invalid={isInvalid}
          onChange={(event) => {
            onChange(event.currentTarget.value);
          }}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
