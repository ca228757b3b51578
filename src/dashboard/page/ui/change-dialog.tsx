import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useChange } from '../api/use-change.js';
import { ChangeButton } from './change-button.js';
import { ConfirmDialog } from './dialog.js';

interface ChangeProps {
  /** What the button does. */
  readonly verb: string;
  /** Names the button where its text is not enough: the same verb in several rows. */
  readonly label?: string;
  readonly kind?: 'primary' | 'danger';
  /** The dialog that the button opens. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens the dialog of a change: of a screen, or of a row of a table. */
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

export interface ChangeDialogProps<T> {
  readonly title: string;
  /** The verb on the button. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly close: () => void;
  /** Makes the change. */
  readonly change: () => Promise<T>;
  /** Called once the change is made, and the dialog closed. */
  readonly onChanged?: (result: T) => void;
  readonly children: ComponentChildren;
}

/** Asks before a change, makes it, and closes. */
export function ChangeDialog<T>({ change, onChanged, close, ...dialog }: ChangeDialogProps<T>) {
  const { mutate, isPending, error } = useChange(change, (result) => {
    close();
    onChanged?.(result);
  });
  return <ConfirmDialog {...dialog} isRunning={isPending} error={error} onConfirm={mutate} onClose={close} />;
}
