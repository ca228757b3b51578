import { useQuery } from '@tanstack/preact-query';
import '../common/screens.css';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { UserLink } from '../common/user-link.js';

type Letter = components['schemas']['DeadLetter'];

/** The entries of the ledger that Postgres refused. */
export function DeadLetters() {
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
