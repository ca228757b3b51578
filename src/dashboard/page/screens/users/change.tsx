import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../../api/use-read.js';
import { ChangeButton } from '../../ui/change-button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { useUser } from './user-context.js';

interface ChangeProps {
  /** What the button does. */
  readonly verb: string;
  /** Names the button where its text is not enough: the same verb in several rows. */
  readonly label?: string;
  readonly kind?: 'primary' | 'danger';
  /** The dialog that the button opens. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens the dialog of a change. */
export function Change({ verb, children, ...button }: ChangeProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ChangeButton {...button} onClick={() => setOpen(true)}>
        {verb}
      </ChangeButton>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}

interface ChangeDialogProps {
  readonly title: string;
  /** The verb on the button. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly close: () => void;
  /** Makes the change. Resolves with what happened, in a sentence; undefined when the screen of the user is gone. */
  readonly run: () => Promise<string | undefined>;
  readonly children: ComponentChildren;
}

/** Asks before a change of the user, makes it, and says what happened. */
export function ChangeDialog({ run, close, ...dialog }: ChangeDialogProps) {
  const user = useUser();
  const { isRunning, error, ...action } = useAction(async () => {
    const sentence = await run();
    close();
    if (sentence !== undefined) user.changed(sentence);
  });
  return <ConfirmDialog {...dialog} isRunning={isRunning} error={error} onConfirm={() => void action.run()} onClose={close} />;
}
