import { useState } from 'preact/hooks';
import { wholeBatch } from '../../../api/errors.js';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { TextField } from '../../../ui/field.js';
import { formatDate } from '../../../ui/format.js';
import { UserChangeDialog } from '../change.js';
import { useUser } from '../user-context.js';

/** What an operator can do about a streak. */
export function StreakActions() {
  return (
    <>
      <Change verb="Give a freeze">{(close) => <GiveDialog close={close} />}</Change>
      <Change verb="Take a freeze">{(close) => <TakeDialog close={close} />}</Change>
      <Change verb="Pause">{(close) => <PauseDialog close={close} />}</Change>
      <Change verb="Restore">{(close) => <RestoreDialog close={close} />}</Change>
      <Change verb="Reset">{(close) => <ResetDialog close={close} />}</Change>
    </>
  );
}

interface DialogProps {
  readonly close: () => void;
}

function GiveDialog({ close }: DialogProps) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const give = async (): Promise<string> => {
    wholeBatch(await api.admin.POST('/streaks/freezes', { body: { freezes: [{ userId: id }] } }));
    return 'The user has one more freeze.';
  };
  return (
    <UserChangeDialog title="Give a freeze" confirm="Give a freeze" close={close} change={give}>
      <p>The user gets one more freeze, beyond the configured maximum if necessary. A freeze keeps the streak over one missed period.</p>
    </UserChangeDialog>
  );
}

function TakeDialog({ close }: DialogProps) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const take = async (): Promise<string> => {
    wholeBatch(await api.admin.POST('/streaks/freezes/take', { body: { freezes: [{ userId: id }] } }));
    return 'The user has one freeze less.';
  };
  return (
    <UserChangeDialog title="Take a freeze" confirm="Take a freeze" isDangerous close={close} change={take}>
      <p>
        The user loses one freeze. Without a freeze, the next missed period ends the streak. Periods that a freeze has covered stay covered.
      </p>
    </UserChangeDialog>
  );
}

function PauseDialog({ close }: DialogProps) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const [start, setStart] = useState('');
  const [end, setEnd] = useState('');
  const pause = async (): Promise<string> => {
    wholeBatch(await api.admin.POST('/streaks/pauses', { body: { pauses: [{ userId: id, start, end }] } }));
    return `The streak is paused from ${formatDate(start)} to ${formatDate(end)}.`;
  };
  return (
    <UserChangeDialog title="Pause the streak" confirm="Pause the streak" close={close} change={pause}>
      <p>A missed period that includes a paused day does not end the streak, and uses no freeze. Both dates are included.</p>
      <TextField label="First day" type="date" isRequired value={start} onChange={setStart} hint="The user’s local date: today or later." />
      <TextField label="Last day" type="date" isRequired value={end} onChange={setEnd} />
    </UserChangeDialog>
  );
}

function RestoreDialog({ close }: DialogProps) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const restore = async (): Promise<string> => {
    wholeBatch(await api.admin.POST('/streaks/restore', { body: { users: [{ id }] } }));
    return 'The streak is restored.';
  };
  return (
    <UserChangeDialog title="Restore the streak" confirm="Restore the streak" close={close} change={restore}>
      <p>The streak gets back the length that it had when it was last lost. A running streak that is longer stays as it is.</p>
    </UserChangeDialog>
  );
}

function ResetDialog({ close }: DialogProps) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const reset = async (): Promise<string> => {
    wholeBatch(await api.admin.POST('/streaks/reset', { body: { users: [{ id }] } }));
    return 'The streak is reset.';
  };
  return (
    <UserChangeDialog title="Reset the streak" confirm="Reset the streak" isDangerous close={close} change={reset}>
      <p>
        The streak ends at once, even if it was extended today. The user can start a new one in the same period. A restore brings it back.
      </p>
    </UserChangeDialog>
  );
}
