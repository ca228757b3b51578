import type { ComponentChildren } from 'preact';
import type { Steps } from '../api/use-steps.js';
import { Dialog } from './dialog.js';
import { ErrorNote } from './states.js';

interface StepsDialogProps {
  readonly title: string;
  /** The verb on the button that starts the work. */
  readonly confirm: string;
  readonly isDisabled?: boolean;
  readonly steps: Pick<Steps<unknown>, 'isRunning' | 'error' | 'stop'>;
  /** How far the work has come; undefined while that is not known. */
  readonly progress: { readonly done: number; readonly total: number } | undefined;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog that starts work in steps, shows how far it has come, and can stop it. Closing the dialog stops it too. */
export function StepsDialog({ title, confirm, isDisabled, steps, progress, onConfirm, onClose, children }: StepsDialogProps) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {steps.isRunning && <progress aria-label="Progress" value={progress?.done} max={progress && Math.max(progress.total, 1)} />}
        {steps.error !== undefined && <ErrorNote error={steps.error} />}
        <footer class="actions">
          {steps.isRunning ? (
            <button type="button" onClick={steps.stop}>
              Stop
            </button>
          ) : (
            <button type="button" onClick={onClose}>
              Close
            </button>
          )}
          <button type="submit" class="primary" disabled={steps.isRunning || isDisabled}>
            {confirm}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
