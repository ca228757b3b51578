import { ChangeDialog, type ChangeDialogProps } from '../../ui/change-dialog.js';
import { useUser } from './user-context.js';

interface UserChangeDialogProps extends Omit<ChangeDialogProps<string>, 'onChanged'> {
  /** Makes the change. Resolves with what happened, in a sentence. */
  readonly change: () => Promise<string>;
}

/** Asks before a change of the user, makes it, and says what happened. */
export function UserChangeDialog(dialog: UserChangeDialogProps) {
  return <ChangeDialog {...dialog} onChanged={useUser().say} />;
}
