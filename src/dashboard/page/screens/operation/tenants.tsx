import { useQuery } from '@tanstack/preact-query';
import '../common/screens.css';
import type { components } from '../../api/schema/admin.js';
import { baseOf, useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { StatusBadge } from '../common/status-badge.js';
import { ArchiveTenantDialog, TenantDialog } from './tenant-dialogs.js';

type Tenant = components['schemas']['Tenant'];

/** The tenants of the account. */
export default function Tenants() {
  const { session } = useScope();
  if (session.key.tenantId !== null) {
    return (
      <Page title="Tenants">
        <Empty>
          Tenants belong to the account, and this key is bound to one of them. Sign in with a key of the account to manage them.
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title="Tenants"
      about="Each tenant has its own users, configuration and keys. Without one, calls are about the default tenant, which is the account itself."
      actions={
        <Change verb="Create a tenant" kind="primary">
          {(close) => <TenantDialog close={close} />}
        </Change>
      }
    >
      <Panel title="All tenants">
        <TenantList />
      </Panel>
    </Page>
  );
}

function TenantList() {
  const { api } = useScope();
  const paging = usePaging(useAddress());
  const read = useQuery(api.admin.query('/tenants', { params: { query: paging.range } }));
  const open = (tenant: Tenant) => `${baseOf(tenant.id)}/`;
  return (
    <PagedTable
      caption="Tenants"
      of={read}
      paging={paging}
      keyOf={({ id }) => id}
      empty="There are no tenants besides the default one. Create one for each of your customers whose data must be separate."
      columns={[
        {
          title: 'Name',
          cell: (tenant) => (tenant.status === 'active' ? <a href={open(tenant)}>{tenant.name}</a> : tenant.name),
        },
        { title: 'customerId', cell: ({ customerId }) => <code>{customerId}</code> },
        { title: 'Id', cell: ({ id }) => <code>{id}</code> },
        { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
        { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
        {
          title: 'Actions',
          cell: (tenant) =>
            tenant.status === 'active' && (
              <div class="row-actions">
                <a class="button" href={open(tenant)} aria-label={`Open ${tenant.name}`}>
                  Open
                </a>
                <Change verb="Change" label={`Change ${tenant.name}`}>
                  {(close) => <TenantDialog tenant={tenant} close={close} />}
                </Change>
                <Change verb="Archive" label={`Archive ${tenant.name}`}>
                  {(close) => <ArchiveTenantDialog tenant={tenant} close={close} />}
                </Change>
              </div>
            ),
        },
      ]}
    />
  );
}
