import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { AdminKeys } from './admin-keys.js';
import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../api/schema/admin.js';
import { wholeBatch } from '../../api/errors.js';
import { given } from '../../api/given.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { UserFilter, UserLink } from '../common/user-link.js';
import { limitsOf } from '../common/key-limits.js';

/** The application keys of a tenant, each for the data of one user. */
function ApplicationKeys() {
  const { api } = useScope();
  const address = useAddress();
  const userId = address.query['user'];
  const paging = usePaging(address, 'applicationKeys', 10);
  const query = given({ userId, ...paging.range });
  const read = useQuery(api.admin.query('/application-api-keys', { params: { query } }));
  return (
    <Panel title="Application keys" actions={<UserFilter />}>
      <PagedTable
        caption="Application keys"
        of={read}
        paging={paging}
        keyOf={({ id }) => id}
        empty={
          userId === undefined
            ? 'There are no application keys. Create one on the screen of a user, for an app that calls Laurel for that user alone.'
            : `${userId} has no application keys.`
        }
        columns={[
          { title: 'User', cell: (key) => <UserLink id={key.userId} /> },
          { title: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
          { title: 'Limits', cell: (key) => limitsOf(key) },
          { title: 'Expires', cell: ({ expires }) => <Moment at={expires} /> },
          { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
          { title: 'Last used', cell: ({ lastUsed }) => <Moment at={lastUsed} /> },
          {
            title: 'Actions',
            cell: (key) => (
              <Change verb="Revoke" label={`Revoke the key ${key.prefix}`}>
                {(close) => <RevokeDialog of={key} close={close} />}
              </Change>
            ),
          },
        ]}
      />
    </Panel>
  );
}

interface RevokeDialogProps {
  readonly of: components['schemas']['ApplicationKey'];
  readonly close: () => void;
}

function RevokeDialog({ of: { id, userId }, close }: RevokeDialogProps) {
  const { api } = useScope();
  const revoke = async () => wholeBatch(await api.admin.DELETE('/application-api-keys', { params: { query: { ids: [id] } } }));
  return (
    <ChangeDialog title="Revoke an application key" confirm="Revoke the key" isDangerous close={close} change={revoke}>
      <p>Every process refuses the key of {userId} within a second. You cannot activate it again.</p>
    </ChangeDialog>
  );
}

type Session = components['schemas']['DashboardSession'];

/** Who is signed in to the dashboard. */
function Sessions() {
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

/** The keys of the account and of users, and who is signed in. */
export default function Keys() {
  const { session } = useScope();
  return (
    <Page title="Keys and sessions">
      {session.key.tenantId === null ? (
        <AdminKeys />
      ) : (
        <Panel title="Admin keys">
          <Empty>Admin keys belong to the account. Sign in with a key that is not bound to a tenant to manage them.</Empty>
        </Panel>
      )}
      <Sessions />
      <ApplicationKeys />
    </Page>
  );
}
