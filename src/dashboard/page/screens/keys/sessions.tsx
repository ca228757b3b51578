import { useQuery } from '@tanstack/preact-query';
import { wholeBatch } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';

type Session = components['schemas']['DashboardSession'];

/** Who is signed in to the dashboard. */
export function Sessions() {
  const { api } = useScope();
  const paging = usePaging(useAddress(), 'sessions', 10);
  const read = useQuery(api.admin.query('/dashboard-sessions', { params: { query: paging.range } }));
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
              <Change verb="Sign out" label={`Sign out the session of ${session.keyName}`}>
                {(close) => <EndDialog session={session} close={close} />}
              </Change>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function EndDialog({ session: { id, current }, close }: { readonly session: Session; readonly close: () => void }) {
  const { api } = useScope();
  const end = async () => wholeBatch(await api.admin.DELETE('/dashboard-sessions', { params: { query: { ids: [id] } } }));
  return (
    <ChangeDialog title="Sign out a session" confirm="Sign out" isDangerous close={close} change={end}>
      <p>
        Every process refuses the session within a second. Its key stays valid: to keep the person out, revoke the key.
        {current && ' This is your own session.'}
      </p>
    </ChangeDialog>
  );
}
