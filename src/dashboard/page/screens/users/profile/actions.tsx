import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { EventDialog } from './event.js';
import { useUser } from '../user-context.js';

/** The actions on the whole user. */
export function UserActions() {
  return (
    <>
      <Change verb="Send a test event" kind="primary">
        {(close) => <EventDialog close={close} />}
      </Change>
      <Change verb="Erase" kind="danger">
        {(close) => <EraseDialog close={close} />}
      </Change>
    </>
  );
}

function EraseDialog({ close }: { readonly close: () => void }) {
  const { api } = useScope();
  const { profile, erased } = useUser();
  const { id } = profile;
  const [typed, setTyped] = useState('');
  // What is known of the user is not read again: the user is gone.
  const erase = useMutation({ mutationFn: () => api.admin.DELETE('/users/{id}', { params: { path: { id } } }), onSuccess: erased });
  return (
    <ConfirmDialog
      title="Erase the user"
      confirm="Erase the user"
      isDangerous
      isDisabled={typed !== id}
      isRunning={erase.isPending}
      error={erase.error}
      onConfirm={erase.mutate}
      onClose={close}
    >
      <p>
        All data about the user is deleted for good: totals, points, streaks, achievements, history, keys and messages. Users below on
        leaderboards move up. It can’t be undone.
      </p>
      <TextField label={`Type the id ${id} to confirm`} value={typed} onChange={setTyped} />
    </ConfirmDialog>
  );
}
