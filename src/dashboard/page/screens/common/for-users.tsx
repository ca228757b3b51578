import { useState } from 'preact/hooks';
import { useSteps } from '../../api/use-steps.js';
import { Field } from '../../ui/field.js';
import { formatCount, formatNumber } from '../../ui/format.js';
import { StepsDialog } from '../../ui/steps-dialog.js';
import { Table } from '../../ui/table.js';
import { UserLink } from './user-link.js';
import { idsOf, type ListOutcome, listOfFile, sendList, type SendUsers } from './user-list.js';

/** Users who are left out that the dialog shows. It counts the rest. */
const shownUsers = 50;

interface ForUsersDialogProps {
  readonly title: string;
  /** What happens to each user. */
  readonly about: string;
  /** The verb on the button: `Give freezes to`. The number of users follows. */
  readonly verb: string;
  /** Sends a part of the list; resolves with an issue for each user who is left out. */
  readonly send: SendUsers;
  readonly close: () => void;
}

/** Does something for a list of users, after a dry run: whoever it leaves out is shown first. */
export function ForUsersDialog({ title, about, verb, send, close }: ForUsersDialogProps) {
  const [list, setList] = useState('');
  const steps = useSteps<ListOutcome>();
  const { state, isRunning } = steps;
  const ids = idsOf(list);
  const checked = !isRunning && state?.isDryRun && state.done === state.total ? ids.filter((id) => !state.left.has(id)) : undefined;
  const change = (next: string): void => {
    setList(next);
    steps.reset();
  };
  const submit = (): void => steps.start(checked ? sendList(send, checked, false) : sendList(send, ids, true));
  return (
    <StepsDialog
      title={title}
      confirm={checked ? `${verb} ${formatCount(checked.length, 'user')}` : 'Check'}
      isDisabled={checked ? checked.length === 0 : ids.length === 0}
      steps={steps}
      progress={state}
      onConfirm={submit}
      onClose={close}
    >
      <p>{about}</p>
      <Field label="Users" hint={`The id of a user on each line: ${formatCount(ids.length, 'user')}.`}>
        {({ id, describedBy }) => (
          <textarea
            id={id}
            rows={8}
            spellcheck={false}
            value={list}
            disabled={isRunning}
            aria-describedby={describedBy}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="File" hint="With an id on each line, or CSV with the ids in the first column, as the export of users has them.">
        {({ id, describedBy }) => (
          <input
            id={id}
            type="file"
            accept=".csv,.txt,text/csv,text/plain"
            disabled={isRunning}
            aria-describedby={describedBy}
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              void file?.text().then((text) => change(listOfFile(file.name, text)));
            }}
          />
        )}
      </Field>
      <div role="status">{state && <Outcome outcome={state} isRunning={isRunning} />}</div>
    </StepsDialog>
  );
}

function Outcome({ outcome: { isDryRun, done, total, left }, isRunning }: { readonly outcome: ListOutcome; readonly isRunning: boolean }) {
  const rows = [...left];
  return (
    <>
      <p class={isDryRun ? 'note' : 'note good'}>
        {isDryRun ? 'Checked' : 'Done for'} {formatNumber(isDryRun ? done : done - left.size)} of {formatCount(total, 'user')}.
        {!isRunning && done < total && ' Stopped.'}
        {left.size > 0 && ` ${formatCount(left.size, 'user')} left out.`}
      </p>
      {rows.length > 0 && (
        <>
          <Table
            caption="Users left out"
            rows={rows.slice(0, shownUsers)}
            keyOf={([userId]) => userId}
            columns={[
              { title: 'User', cell: ([userId]) => <UserLink id={userId} /> },
              { title: 'Why', cell: ([, message]) => message },
            ]}
          />
          {rows.length > shownUsers && <p class="hint">And {formatNumber(rows.length - shownUsers)} more.</p>}
        </>
      )}
    </>
  );
}
