import { ConfirmDialog } from '../../ui/dialog.js';
import { useDraft } from '../draft/draft.js';
import type { Keyed, Path } from '../file/json.js';
import { nameOf } from './draft-list.js';

interface RemoveDialogProps {
  readonly path: Path;
  readonly object: Keyed;
  readonly singular: string;
  readonly onRemoved: () => void;
  readonly onClose: () => void;
}

/** Kinds whose archived objects do not come back with their key. */
const startsAnew = ['leaderboard', 'webhook'];

/** Takes an object out of the draft, and says what applying that does. */
export function RemoveDialog({ path, object, singular, onRemoved, onClose }: RemoveDialogProps) {
  const { set } = useDraft();
  return (
    <ConfirmDialog
      title={`Remove ${nameOf(object)}`}
      confirm={`Remove ${singular}`}
      isDangerous
      isRunning={false}
      error={null}
      onClose={onClose}
      onConfirm={() => {
        set(path, undefined);
        onRemoved();
        onClose();
      }}
    >
      <p>
        When you apply the draft, the {singular} <code>{object.key}</code> is archived: it has no effect and is not shown, but its data
        stays.{' '}
        {startsAnew.includes(singular)
          ? `A ${singular} with the same key later is a new one, without that data.`
          : `Adding a ${singular} with the same key later restores it with its data.`}
      </p>
    </ConfirmDialog>
  );
}
