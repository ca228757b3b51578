import { FieldControl } from '../../editor/forms/controls.js';
import { type ControlProps, useValue } from '../../editor/forms/use-value.js';

/** A text that a message can go without: an empty one leaves the part out, none falls back. */
export function PartialText(props: ControlProps) {
  const { value, change } = useValue(props);
  const isLeftOut = value === '';
  return (
    <div>
      {!isLeftOut && <FieldControl {...props} />}
      {isLeftOut && <strong>{props.field.text.label}</strong>}
      <label class="leave-out">
        <input type="checkbox" checked={isLeftOut} onChange={(event) => change(event.currentTarget.checked ? '' : undefined)} />{' '}
        <span>Leave the {props.field.text.label.toLowerCase()} out of the email</span>
      </label>
    </div>
  );
}
