import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from './states.js';
import { useUnloadWarning } from './unload-warning.js';

const fields = 'input:not(:disabled), select:not(:disabled), textarea:not(:disabled)';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog: its first field gets the focus, the browser keeps the focus inside it, and Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const [isEdited, setIsEdited] = useState(false);
  const hasFocused = useRef(false);
  useUnloadWarning(isEdited);
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    // The dialog is removed without being closed, which would return the focus.
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  useEffect(() => {
    // The browser has focused the button that closes it. The fields may come later, with what they are chosen from.
    const field = hasFocused.current ? null : element.current?.querySelector<HTMLElement>(fields);
    if (!field) return;
    field.focus();
    hasFocused.current = true;
  });
  return (
    <dialog ref={element} aria-label={title} onClose={onClose} onInput={() => setIsEdited(true)}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What will happen. */
  readonly children: ComponentChildren;
  /** The verb on the button: `Delete the user`. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly isRunning: boolean;
  readonly isDisabled?: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before a change. */
export function ConfirmDialog({ title, children, confirm, isDangerous, isRunning, isDisabled, error, onConfirm, onClose }: ConfirmProps) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {error && <ErrorNote error={error} />}
        <footer class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={isRunning || isDisabled}>
            {confirm}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
