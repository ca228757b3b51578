import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { TextField } from '../../ui/field.js';

type Tenant = components['schemas']['Tenant'];

interface TenantDialogProps {
  readonly close: () => void;
}

/** Changes a tenant; creates one without `tenant`. */
export function TenantDialog({ tenant, close }: TenantDialogProps & { readonly tenant?: Tenant }) {
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
export function ArchiveTenantDialog({ tenant, close }: TenantDialogProps & { readonly tenant: Tenant }) {
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
