import { useDraft } from '../draft/draft.js';
import type { FormField } from '../file/form-fields.js';
import { type Json, type Path, valueAt } from '../file/json.js';
import { problemAt } from '../file/problems.js';

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
