import '../screens.css';
import { useState } from 'preact/hooks';
import type { components } from '../../api/schema/admin.js';
import { useAction, useRead } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { useAddress } from '../../use-address.js';
import { ChangeButton } from '../../ui/change-button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Moment } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { Runbooks } from './runbook-list.js';
import { runbooks } from './runbooks.js';

type Letter = components['schemas']['DeadLetter'];

interface Opened {
  readonly task: 'retry' | 'discard';
  readonly letter: Letter;
}

/** The entries of the ledger that Postgres refused. */
export function DeadLetters() {
  const { api, href } = useScope();
  const paging = usePaging(useAddress(), 'letters', 10);
  const read = useRead(() => api.admin.GET('/dead-letters', { params: { query: paging.range } }), [api, paging.page]);
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => {
    setOpened(undefined);
  };
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
          { title: 'User', cell: ({ userId }) => userId !== null && <a href={href(`/users/${encodeURIComponent(userId)}`)}>{userId}</a> },
          { title: 'SQLSTATE', cell: ({ sqlstate }) => sqlstate !== null && <code>{sqlstate}</code> },
          { title: 'Reason', cell: ({ reason }) => reason },
          {
            title: 'Actions',
            cell: (letter) => (
              <div class="row-actions">
                <ChangeButton onClick={() => setOpened({ task: 'retry', letter })}>Replay</ChangeButton>
                <ChangeButton onClick={() => setOpened({ task: 'discard', letter })}>Discard</ChangeButton>
              </div>
            ),
          },
        ]}
      />
      <Runbooks names={runbooks.deadLetters} />
      {opened && (
        <LetterDialog
          {...opened}
          onDone={() => {
            close();
            read.reload();
          }}
          onClose={close}
        />
      )}
    </Panel>
  );
}

interface LetterDialogProps extends Opened {
  readonly onDone: () => void;
  readonly onClose: () => void;
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

function LetterDialog({ task, letter, onDone, onClose }: LetterDialogProps) {
  const { api } = useScope();
  const params = { path: { id: letter.id } };
  const { run, isRunning, error } = useAction(async () => {
    if (task === 'retry') await api.admin.POST('/dead-letters/{id}/retry', { params });
    else await api.admin.DELETE('/dead-letters/{id}', { params });
    onDone();
  });
  const { title, confirm, about } = texts[task];
  return (
    <ConfirmDialog
      title={title}
      confirm={confirm}
      isDangerous={task === 'discard'}
      isRunning={isRunning}
      error={error}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      <p>{about}</p>
      <p class="note">{letter.reason}</p>
      <Json value={letter.entry} />
    </ConfirmDialog>
  );
}
