import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useScope } from '../../scope/scope.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { formatCount } from '../../ui/format.js';
import { useKeptDraft, useProblems } from './kept-draft.js';

/** What is changed and not applied yet, at the bottom of the window; nothing without a draft. */
export function DraftBar() {
  const { href } = useScope();
  const { path } = useLocation();
  const { stored, isKept, store } = useKeptDraft();
  const [, setProblems] = useProblems();
  const review = href('/configuration/review');
  const [isAsking, setIsAsking] = useState(false);
  const count = stored?.changes ?? 1;
  if (!stored || count === 0) return null;
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
            store(undefined);
            setProblems([]);
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
