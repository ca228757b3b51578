import { useQuery } from '@tanstack/preact-query';
import '../common/screens.css';
import { useState } from 'preact/hooks';
import { baseOf, useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { SecretDialog } from '../../ui/secret.js';
import { StatusBadge } from '../common/status-badge.js';
import type { components } from '../../api/schema/admin.js';
import { wholeBatch } from '../../api/errors.js';
import type { Api } from '../../api/client.js';
import { TextField, SelectField } from '../../ui/field.js';

type AdminKey = components['schemas']['AdminKey'];

type KeyTask = 'rename' | 'rotate' | 'revoke' | 'delete';

interface TaskText {
  /** The verb on the button. */
  readonly confirm: string;
  /** What will happen. */
  readonly about: string;
  readonly isDangerous: boolean;
}

const texts: Readonly<Record<KeyTask, TaskText>> = {
  rename: { confirm: 'Rename', about: 'Only the name changes.', isDangerous: false },
  rotate: {
    confirm: 'Create the new key',
    about: 'Laurel creates a key with the same name and access. Both keys are valid until you revoke the old one.',
    isDangerous: false,
  },
  revoke: {
    confirm: 'Revoke the key',
    about: 'Every process refuses the key within a second, and its sessions end. You cannot activate it again.',
    isDangerous: true,
  },
  delete: {
    confirm: 'Delete the key',
    about: 'Laurel revokes the key, ends its sessions and removes it from this list. You cannot undo this.',
    isDangerous: true,
  },
};

/** Does a task. Resolves with the new key of a rotation. */
async function perform({ admin }: Api, task: KeyTask, id: string, name: string): Promise<string | undefined> {
  switch (task) {
    case 'rename':
      wholeBatch(await admin.PATCH('/admin-api-keys', { body: [{ id, name }] }));
      return undefined;
    case 'rotate':
      return wholeBatch(await admin.POST('/admin-api-keys/rotate', { body: [{ id }] })).created[0]?.key;
    case 'revoke':
      wholeBatch(await admin.PATCH('/admin-api-keys', { body: [{ id, status: 'revoked' }] }));
      return undefined;
    case 'delete':
      wholeBatch(await admin.DELETE('/admin-api-keys', { params: { query: { ids: [id] } } }));
      return undefined;
  }
}

interface KeyDialogProps {
  readonly task: KeyTask;
  readonly adminKey: AdminKey;
  /** Called with the new key of a rotation. */
  readonly onDone: (created: string | undefined) => void;
  readonly close: () => void;
}

/** Asks before a task on an admin key, and does it. */
function KeyDialog({ task, adminKey, onDone, close }: KeyDialogProps) {
  const { api, session } = useScope();
  const [name, setName] = useState(adminKey.name);
  const { confirm, about, isDangerous } = texts[task];
  const isOwn = adminKey.id === session.key.id;
  return (
    <ChangeDialog
      title={`${confirm}: ${adminKey.name === '' ? adminKey.prefix : adminKey.name}`}
      confirm={confirm}
      isDangerous={isDangerous}
      close={close}
      change={() => perform(api, task, adminKey.id, name)}
      onChanged={onDone}
    >
      <p>{about}</p>
      {isOwn && isDangerous && <p class="note warning">You are signed in with this key: you will be signed out.</p>}
      {task === 'rename' && <TextField label="Name" value={name} onChange={setName} />}
    </ChangeDialog>
  );
}

const accessOptions = [
  { value: 'full', label: 'Full: reads and changes' },
  { value: 'read', label: 'Read-only: changes nothing' },
];

interface CreateKeyDialogProps {
  /** Called with the new key, which the service returns only once. */
  readonly onCreated: (key: string) => void;
  readonly close: () => void;
}

function CreateKeyDialog({ onCreated, close }: CreateKeyDialogProps) {
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

/** The admin keys of the account and of its tenants. */
export function AdminKeys() {
  const { api, session } = useScope();
  const paging = usePaging(useAddress());
  const read = useQuery(api.admin.query('/admin-api-keys', { params: { query: paging.range } }));
  const [secret, setSecret] = useState<string>();
  return (
    <Panel
      title="Admin keys"
      actions={
        <Change verb="Create a key" kind="primary">
          {(close) => <CreateKeyDialog onCreated={setSecret} close={close} />}
        </Change>
      }
    >
      <PagedTable
        caption="Admin keys"
        of={read}
        paging={paging}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: ({ id, name }) => (
              <>
                {name === '' ? <span class="none">no name</span> : name}
                {id === session.key.id && <span class="hint"> (you)</span>}
              </>
            ),
          },
          { title: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
          { title: 'Access', cell: ({ access }) => (access === 'read' ? 'read-only' : 'full') },
          { title: 'For', cell: ({ tenantId }) => <TenantLink id={tenantId} /> },
          { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
          { title: 'Last used', cell: ({ lastUsed }) => <Moment at={lastUsed} /> },
          { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
          { title: 'Actions', cell: (key) => <KeyActions adminKey={key} onDone={setSecret} /> },
        ]}
      />
      {secret !== undefined && (
        <SecretDialog
          title="The new admin key"
          secret={secret}
          about="Store it where your server reads its secrets."
          onClose={() => {
            setSecret(undefined);
          }}
        />
      )}
    </Panel>
  );
}

function TenantLink({ id }: { readonly id: string | null }) {
  if (id === null) return <>the account</>;
  return <a href={`${baseOf(id)}/`}>one tenant</a>;
}

const tasks: readonly (readonly [task: KeyTask, verb: string])[] = [
  ['rename', 'Rename'],
  ['rotate', 'Rotate'],
  ['revoke', 'Revoke'],
  ['delete', 'Delete'],
];

interface KeyActionsProps {
  readonly adminKey: AdminKey;
  readonly onDone: (created: string | undefined) => void;
}

function KeyActions({ adminKey, onDone }: KeyActionsProps) {
  const isActive = adminKey.status === 'active';
  const name = adminKey.name === '' ? adminKey.prefix : adminKey.name;
  return (
    <div class="row-actions">
      {tasks
        .filter(([task]) => isActive || task === 'delete')
        .map(([task, verb]) => (
          <Change key={task} verb={verb} label={`${verb} the key ${name}`}>
            {(close) => <KeyDialog task={task} adminKey={adminKey} onDone={onDone} close={close} />}
          </Change>
        ))}
    </div>
  );
}
