import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useScope } from '../../scope/scope.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { formatCount } from '../../ui/format.js';

interface DraftBarProps {
  readonly count: number;
  /** Whether the browser keeps the draft when the page is reloaded. */
  readonly isKept: boolean;
  readonly onDiscard: () => void;
}

/** What is changed and not applied yet, at the bottom of the window. */
export function DraftBar({ count, isKept, onDiscard }: DraftBarProps) {
  const { href } = useScope();
  const { path } = useLocation();
  const review = href('/configuration/review');
  const [isAsking, setIsAsking] = useState(false);
  return (
    <aside class="draft-bar" aria-label="Unsaved changes">
      <p role="status">
        <strong>{formatCount(count, 'unsaved change')}</strong>
        {isKept ? '' : ' The draft is too large for this browser to keep: apply it before you close or reload the page.'}
      </p>
      <div class="actions">
        <button type="button" onClick={() => setIsAsking(true)}>
          Discard
        </button>
        {path !== review && (
          <a class="button primary" href={review}>
            Review
          </a>
        )}
      </div>
      {isAsking && (
        <ConfirmDialog
          title="Discard the changes"
          confirm="Discard the changes"
          isDangerous
          isRunning={false}
          error={null}
          onClose={() => setIsAsking(false)}
          onConfirm={() => {
            setIsAsking(false);
            onDiscard();
          }}
        >
          <p>
            {formatCount(count, 'change')} that {count === 1 ? 'is' : 'are'} not applied will be lost. The active configuration stays as it
            is.
          </p>
        </ConfirmDialog>
      )}
    </aside>
  );
}
