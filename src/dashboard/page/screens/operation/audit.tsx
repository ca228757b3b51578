import { useQuery } from '@tanstack/preact-query';
import { given } from '../../api/given.js';
import type { components } from '../../api/schema/admin.js';
import { baseOf, useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Moment } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { ExportButtons } from '../common/export-buttons.js';
import { UserFilter } from '../common/user-link.js';

type Entry = components['schemas']['AuditEntry'];

const entriesPerPage = 50;
/** How many users of a change are named. */
const namedUsers = 3;

const ways: Readonly<Record<Entry['via'], string>> = { api: 'by the API', dashboard: 'in the dashboard', command: 'on a machine of yours' };

/** Who changed what, the newest first. */
export default function Audit() {
  const { api } = useScope();
  const address = useAddress();
  const { cursor, user } = address.query;
  const query = given({ limit: entriesPerPage, cursor, user });
  const read = useQuery(api.admin.query('/audit-log', { params: { query } }));
  return (
    <Page
      title="Audit log"
      about="Changes by operators and their scripts. Entries are kept for 400 days."
      actions={
        <ExportButtons
          name="audit-log"
          read={(format) => api.admin.GET('/exports/audit-log', { params: { query: { format } }, parseAs: 'blob' })}
        />
      }
    >
      <Panel title="Changes" actions={<UserFilter />}>
        <Loaded of={read}>
          {({ entries, next }) => (
            <>
              <Table
                caption="Changes"
                rows={entries}
                keyOf={({ id }) => id}
                empty={
                  user === undefined
                    ? 'No changes yet. Changes of the configuration, of users, keys and tenants appear here.'
                    : `No changes are about ${user}.`
                }
                columns={[
                  { title: 'At', cell: ({ at }) => <Moment at={at} /> },
                  { title: 'Who', cell: (entry) => <Who entry={entry} /> },
                  { title: 'Change', cell: (entry) => <Change entry={entry} /> },
                  { title: 'Users', cell: (entry) => <Users entry={entry} /> },
                  { title: 'Tenant', cell: ({ tenantId }) => tenantId !== null && <TenantLink id={tenantId} /> },
                ]}
              />
              {(cursor !== undefined || next !== null) && (
                <nav class="pager" aria-label="Pages of Changes">
                  {cursor !== undefined && (
                    <a class="button" href={address.with({ cursor: undefined })}>
                      Newest
                    </a>
                  )}
                  {next !== null && (
                    <a class="button" href={address.with({ cursor: next })}>
                      Older
                    </a>
                  )}
                </nav>
              )}
            </>
          )}
        </Loaded>
      </Panel>
    </Page>
  );
}

function Who({ entry: { key, via } }: { readonly entry: Entry }) {
  return (
    <>
      {key ? key.name || <code>{key.prefix}</code> : 'The command line'} <div class="hint">{ways[via]}</div>
    </>
  );
}

function Change({ entry: { summary, operation, tenantId, configurationVersion, ignoredFields } }: { readonly entry: Entry }) {
  const to = useAddressOf(tenantId);
  return (
    <>
      {summary} {configurationVersion !== null && <a href={to(`/versions/${configurationVersion}`)}>Version {configurationVersion}</a>}
      {ignoredFields.length > 0 && <div class="problem">Ignored, since there are no such fields: {ignoredFields.join(', ')}</div>}
      <div class="hint">
        <code>{operation}</code>
      </div>
    </>
  );
}

function Users({ entry: { users, tenantId } }: { readonly entry: Entry }) {
  const to = useAddressOf(tenantId);
  const others = users.length - namedUsers;
  return (
    <>
      {users.slice(0, namedUsers).map((id) => (
        <div key={id}>
          <a href={to(`/users/${encodeURIComponent(id)}`)}>{id}</a>
        </div>
      ))}
      {others > 0 && <div class="hint">and {others} more</div>}
    </>
  );
}

const TenantLink = ({ id }: { readonly id: string }) => (
  <a href={`${baseOf(id)}/`} title={id}>
    {id.slice(0, 8)}
  </a>
);

/** The addresses of screens of the tenant that an entry is about, which may be another one than that of this screen. */
function useAddressOf(tenantId: string | null): (path: string) => string {
  const { href, tenant } = useScope();
  return tenantId === null || tenantId === tenant ? href : (path) => baseOf(tenantId) + path;
}
