import { useState } from 'preact/hooks';
import { useScope } from '../../scope.js';
import { TextField } from '../../ui/field.js';
import { Change, ChangeDialog } from './change.js';
import { EventDialog } from './event.js';
import { useUser } from './user-context.js';

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
  const erase = async (): Promise<undefined> => {
    await api.admin.DELETE('/users/{id}', { params: { path: { id } } });
    erased();
  };
  return (
    <ChangeDialog title="Erase the user" confirm="Erase the user" isDangerous isDisabled={typed !== id} close={close} run={erase}>
      <p>
        All data about the user is deleted for good: totals, points, streaks, achievements, history, keys and messages. Users below on
        leaderboards move up. It can’t be undone.
      </p>
      <TextField label={`Type the id ${id} to confirm`} value={typed} onChange={setTyped} />
    </ChangeDialog>
  );
}
