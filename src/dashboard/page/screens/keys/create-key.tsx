import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import { useScope } from '../../scope/scope.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { SelectField, TextField } from '../../ui/field.js';

const accessOptions = [
  { value: 'full', label: 'Full: reads and changes' },
  { value: 'read', label: 'Read-only: changes nothing' },
];

interface CreateKeyDialogProps {
  /** Called with the new key, which the service returns only once. */
  readonly onCreated: (key: string) => void;
  readonly close: () => void;
}

export function CreateKeyDialog({ onCreated, close }: CreateKeyDialogProps) {
  const { api, tenant: current } = useScope();
  const [name, setName] = useState('');
  const [access, setAccess] = useState('full');
  const [tenant, setTenant] = useState(current ?? '');
  const create = async (): Promise<string> => {
    const item = {
      name,
      access: access === 'read' ? ('read' as const) : ('full' as const),
      ...(tenant === '' ? {} : { tenantId: tenant }),
    };
    const { created } = wholeBatch(await api.admin.POST('/admin-api-keys', { body: [item] }));
    return created[0]?.key ?? '';
  };
  return (
    <ChangeDialog title="Create an admin key" confirm="Create the key" close={close} change={create} onChanged={onCreated}>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        isRequired
        hint="Where the key is used: the name of a server, or of a person."
      />
      <SelectField label="Access" value={access} onChange={setAccess} options={accessOptions} />
      <TextField
        label="Tenant"
        value={tenant}
        onChange={setTenant}
        hint="The id or customerId of the only tenant that the key may use. Leave it empty for a key of the account, which may use all tenants."
      />
    </ChangeDialog>
  );
}
