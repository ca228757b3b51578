import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useAction, useRead } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { useAddress } from '../../use-address.js';
import { ChangeButton } from '../../ui/change-button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';

type Session = components['schemas']['DashboardSession'];

/** Who is signed in to the dashboard. */
export function Sessions() {
  const { api } = useScope();
  const paging = usePaging(useAddress(), 'sessions', 10);
  const read = useRead(() => api.admin.GET('/dashboard-sessions', { params: { query: paging.range } }), [api, paging.page]);
  const [ending, setEnding] = useState<Session>();
  const close = (): void => {
    setEnding(undefined);
  };
  const end = useAction(async () => {
    wholeBatch(await api.admin.DELETE('/dashboard-sessions', { params: { query: { ids: ending ? [ending.id] : [] } } }));
    close();
    read.reload();
  });
  return (
    <Panel title="Sessions">
      <PagedTable
        caption="Sessions"
        of={read}
        paging={paging}
        keyOf={({ id }) => id}
        empty="No session is open."
        columns={[
          {
            title: 'Key',
            cell: ({ keyName, keyId, current }) => (
              <>
                {keyName === '' ? <code>{keyId}</code> : keyName}
                {current && <span class="hint"> (this session)</span>}
              </>
            ),
          },
          { title: 'Signed in', cell: ({ created }) => <Moment at={created} /> },
          { title: 'Last used', cell: ({ lastUsed }) => <Moment at={lastUsed} /> },
          { title: 'Ends', cell: ({ expires }) => <Moment at={expires} /> },
          {
            title: 'Actions',
            cell: (session) => (
              <ChangeButton
                label={`Sign out the session of ${session.keyName}`}
                onClick={() => {
                  setEnding(session);
                }}
              >
                Sign out
              </ChangeButton>
            ),
          },
        ]}
      />
      {ending && (
        <ConfirmDialog
          title="Sign out a session"
          confirm="Sign out"
          isDangerous
          isRunning={end.isRunning}
          error={end.error}
          onConfirm={() => void end.run()}
          onClose={close}
        >
          <p>
            Every process refuses the session within a second. Its key stays valid: to keep the person out, revoke the key.
            {ending.current && ' This is your own session.'}
          </p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}
