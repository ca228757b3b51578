import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty, ErrorNote, Loaded } from '../../ui/states.js';
import { Installation } from './installation.js';
import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import { useChange } from '../../api/use-change.js';
import { ChangeButton } from '../../ui/change-button.js';
import { TextField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import '../common/screens.css';
import type { components } from '../../api/schema/admin.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Json } from '../../ui/json.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { UserLink } from '../common/user-link.js';

const hourMs = 3_600_000;

const steps: readonly (readonly [verb: string, byMs: number])[] = [
  ['1 hour on', hourMs],
  ['1 day on', 24 * hourMs],
  ['1 week on', 7 * 24 * hourMs],
];

/** Moves the test clock of all tenants. */
function Clock() {
  const { api } = useScope();
  const read = useQuery(api.admin.query('/clock'));
  const [date, setDate] = useState('');
  const move = async (now: string) => dataOf(await api.admin.PUT('/clock', { body: { now } }));
  const { mutate, isPending, error, data: moved } = useChange(move);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate(`${date}T00:00:00Z`);
  };
  return (
    <Panel title="Test clock">
      <Loaded of={read}>
        {({ now }) => (
          <>
            <p>
              It is <Moment at={now} /> for all tenants. The clock moves only forward, and does everything that falls due on the way:
              streaks end, runs of leaderboards become final, messages fall due.
            </p>
            <div class="actions">
              {steps.map(([verb, byMs]) => (
                <ChangeButton
                  key={verb}
                  isDisabled={isPending}
                  label={`Move the clock ${verb}`}
                  onClick={() => mutate(new Date(Date.parse(now) + byMs).toISOString())}
                >
                  {verb}
                </ChangeButton>
              ))}
            </div>
            <form class="inline" onSubmit={submit}>
              <TextField label="To the start of a day (UTC)" type="date" value={date} onChange={setDate} isRequired />
              <ChangeButton type="submit" isDisabled={isPending}>
                Move the clock
              </ChangeButton>
            </form>
          </>
        )}
      </Loaded>
      {isPending && <progress aria-label="Moving the clock" />}
      <p role="status">
        {moved && (
          <>
            The clock shows <Moment at={moved.now} />. Everything that was due is done.
          </>
        )}
      </p>
      {error && <ErrorNote error={error} />}
    </Panel>
  );
}

type Letter = components['schemas']['DeadLetter'];

/** The entries of the ledger that Postgres refused. */
function DeadLetters() {
  const { api } = useScope();
  const paging = usePaging(useAddress(), 'letters', 10);
  const read = useQuery(api.admin.query('/dead-letters', { params: { query: paging.range } }));
  return (
    <Panel title="Dead letters">
      <PagedTable
        caption="Dead letters"
        of={read}
        paging={paging}
        keyOf={({ id }) => id}
        empty="Postgres has refused no entry of this tenant’s ledger."
        columns={[
          { title: 'At', cell: ({ at }) => <Moment at={at} /> },
          { title: 'Kind', cell: ({ kind }) => kind ?? <span class="none">undecodable</span> },
          { title: 'User', cell: ({ userId }) => userId !== null && <UserLink id={userId} /> },
          { title: 'SQLSTATE', cell: ({ sqlstate }) => sqlstate !== null && <code>{sqlstate}</code> },
          { title: 'Reason', cell: ({ reason }) => reason },
          {
            title: 'Actions',
            cell: (letter) => (
              <div class="row-actions">
                <Change verb="Replay">{(close) => <LetterDialog task="retry" letter={letter} close={close} />}</Change>
                <Change verb="Discard">{(close) => <LetterDialog task="discard" letter={letter} close={close} />}</Change>
              </div>
            ),
          },
        ]}
      />
      <Runbooks names={runbooks.deadLetters} />
    </Panel>
  );
}

interface LetterDialogProps {
  readonly task: keyof typeof texts;
  readonly letter: Letter;
  readonly close: () => void;
}

const texts = {
  retry: {
    title: 'Replay a dead letter',
    confirm: 'Replay the entry',
    about:
      'Laurel writes the entry to Postgres, whole and once, and removes the letter. Fix the reason first. No webhooks are sent for it.',
  },
  discard: {
    title: 'Discard a dead letter',
    confirm: 'Discard the entry',
    about: 'Laurel deletes the letter. What the entry holds never reaches Postgres, and you cannot undo this.',
  },
} as const;

function LetterDialog({ task, letter, close }: LetterDialogProps) {
  const { api } = useScope();
  const params = { path: { id: letter.id } };
  const change = async (): Promise<void> => {
    if (task === 'retry') await api.admin.POST('/dead-letters/{id}/retry', { params });
    else await api.admin.DELETE('/dead-letters/{id}', { params });
  };
  const { title, confirm, about } = texts[task];
  return (
    <ChangeDialog title={title} confirm={confirm} isDangerous={task === 'discard'} close={close} change={change}>
      <p>{about}</p>
      <p class="note">{letter.reason}</p>
      <Json value={letter.entry} />
    </ChangeDialog>
  );
}

/** Whether the installation is healthy, and what to do when it is not. */
export default function Status() {
  const { session } = useScope();
  const isOfAccount = session.key.tenantId === null;
  return (
    <Page title="Status">
      {isOfAccount ? (
        <Installation />
      ) : (
        <Panel title="Installation">
          <Empty>
            The state of the installation concerns the account, and this key is bound to a tenant. Sign in with a key of the account.
          </Empty>
        </Panel>
      )}
      <DeadLetters />
      {isOfAccount && session.testClock && <Clock />}
    </Page>
  );
}
