import '../screens.css';
import { useState } from 'preact/hooks';
import type { components } from '../../api/schema/admin.js';
import { useRead } from '../../api/use-read.js';
import { baseOf, useScope } from '../../scope.js';
import { useAddress } from '../../use-address.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { StatusBadge } from '../status-badge.js';
import { ArchiveTenantDialog, TenantDialog } from './tenant-dialogs.js';

type Tenant = components['schemas']['Tenant'];

type Opened = { readonly task: 'create' } | { readonly task: 'change' | 'archive'; readonly tenant: Tenant };

/** The tenants of the account. */
export default function Tenants() {
  const { session } = useScope();
  const [opened, setOpened] = useState<Opened>();
  const [changes, setChanges] = useState(0);
  const close = (): void => {
    setOpened(undefined);
  };
  const done = (): void => {
    close();
    setChanges(changes + 1);
  };
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
        <ChangeButton kind="primary" onClick={() => setOpened({ task: 'create' })}>
          Create a tenant
        </ChangeButton>
      }
    >
      <Panel title="All tenants">
        <TenantList changes={changes} onOpen={setOpened} />
      </Panel>
      {opened?.task === 'create' && <TenantDialog onDone={done} onClose={close} />}
      {opened?.task === 'change' && <TenantDialog tenant={opened.tenant} onDone={done} onClose={close} />}
      {opened?.task === 'archive' && <ArchiveTenantDialog tenant={opened.tenant} onDone={done} onClose={close} />}
    </Page>
  );
}

/** `changes` counts the changes of this screen: each reads the list again. */
function TenantList({ changes, onOpen }: { readonly changes: number; readonly onOpen: (opened: Opened) => void }) {
  const { api } = useScope();
  const paging = usePaging(useAddress());
  const read = useRead(() => api.admin.GET('/tenants', { params: { query: paging.range } }), [api, paging.page, changes]);
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
                <ChangeButton label={`Change ${tenant.name}`} onClick={() => onOpen({ task: 'change', tenant })}>
                  Change
                </ChangeButton>
                <ChangeButton label={`Archive ${tenant.name}`} onClick={() => onOpen({ task: 'archive', tenant })}>
                  Archive
                </ChangeButton>
              </div>
            ),
        },
      ]}
    />
  );
}
