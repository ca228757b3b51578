import { useQuery } from '@tanstack/preact-query';
import '../common/screens.css';
import type { components } from '../../api/schema/admin.js';
import { baseOf, useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { StatusBadge } from '../common/status-badge.js';
import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import { TextField } from '../../ui/field.js';

type Tenant = components['schemas']['Tenant'];

interface TenantDialogProps {
  readonly close: () => void;
}

/** Changes a tenant; creates one without `tenant`. */
function TenantDialog({ tenant, close }: TenantDialogProps & { readonly tenant?: Tenant }) {
  const { api } = useScope();
  const [name, setName] = useState(tenant?.name ?? '');
  const [customerId, setCustomerId] = useState(tenant?.customerId ?? '');
  const save = async (): Promise<void> => {
    if (tenant) wholeBatch(await api.admin.PATCH('/tenants', { body: [{ id: tenant.id, name, customerId }] }));
    else wholeBatch(await api.admin.POST('/tenants', { body: [{ name, customerId }] }));
  };
  return (
    <ChangeDialog
      title={tenant ? `Change ${tenant.name}` : 'Create a tenant'}
      confirm={tenant ? 'Save the changes' : 'Create the tenant'}
      close={close}
      change={save}
    >
      {!tenant && <p>The tenant starts with an empty configuration.</p>}
      <TextField label="Name" value={name} onChange={setName} isRequired />
      <TextField
        label="customerId"
        value={customerId}
        onChange={setCustomerId}
        isRequired
        hint={
          tenant
            ? 'Calls whose Tenant-ID header has the old customerId get a 404 once you change it.'
            : 'Your own id of the customer. Calls name the tenant by it, or by the id that Laurel makes, in the Tenant-ID header.'
        }
      />
    </ChangeDialog>
  );
}

/** Archives a tenant once its customerId is typed. */
function ArchiveTenantDialog({ tenant, close }: TenantDialogProps & { readonly tenant: Tenant }) {
  const { api } = useScope();
  const [typed, setTyped] = useState('');
  const archive = async () => wholeBatch(await api.admin.DELETE('/tenants', { params: { query: { ids: [tenant.id] } } }));
  return (
    <ChangeDialog
      title={`Archive ${tenant.name}`}
      confirm="Archive the tenant"
      isDangerous
      isDisabled={typed !== tenant.customerId}
      close={close}
      change={archive}
    >
      <p>
        Requests can’t name the tenant any more, and its keys stop working within a second. Its data stays in the stores, but you cannot
        undo this. Type <code>{tenant.customerId}</code> to confirm.
      </p>
      <TextField label="customerId" value={typed} onChange={setTyped} isRequired />
    </ChangeDialog>
  );
}

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
