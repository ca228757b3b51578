import '../screens.css';
import { useState } from 'preact/hooks';
import { useRead } from '../../api/use-read.js';
import { baseOf, useScope } from '../../scope.js';
import { useAddress } from '../../use-address.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { SecretDialog } from '../../ui/secret.js';
import { StatusBadge } from '../status-badge.js';
import { CreateKeyDialog } from './create-key.js';
import { KeyDialog, type KeyTask } from './key-dialogs.js';
import type { AdminKey } from './types.js';

interface Opened {
  readonly task: KeyTask;
  readonly adminKey: AdminKey;
}

/** The admin keys of the account and of its tenants. */
export function AdminKeys() {
  const { api, session } = useScope();
  const paging = usePaging(useAddress());
  const read = useRead(() => api.admin.GET('/admin-api-keys', { params: { query: paging.range } }), [api, paging.page]);
  const [isCreating, setCreating] = useState(false);
  const [opened, setOpened] = useState<Opened>();
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    setCreating(false);
    setOpened(undefined);
  };
  const done = (created?: string): void => {
    close();
    setSecret(created);
    read.reload();
  };
  return (
    <Panel
      title="Admin keys"
      actions={
        <ChangeButton kind="primary" onClick={() => setCreating(true)}>
          Create a key
        </ChangeButton>
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
          {
            title: 'Actions',
            cell: (key) => (
              <KeyActions
                adminKey={key}
                onOpen={(task) => {
                  setOpened({ task, adminKey: key });
                }}
              />
            ),
          },
        ]}
      />
      {isCreating && <CreateKeyDialog onCreated={done} onClose={close} />}
      {opened && <KeyDialog {...opened} onDone={done} onClose={close} />}
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

function KeyActions({ adminKey, onOpen }: { readonly adminKey: AdminKey; readonly onOpen: (task: KeyTask) => void }) {
  const isActive = adminKey.status === 'active';
  const name = adminKey.name === '' ? adminKey.prefix : adminKey.name;
  return (
    <div class="row-actions">
      {tasks
        .filter(([task]) => isActive || task === 'delete')
        .map(([task, verb]) => (
          <ChangeButton
            key={task}
            label={`${verb} the key ${name}`}
            onClick={() => {
              onOpen(task);
            }}
          >
            {verb}
          </ChangeButton>
        ))}
    </div>
  );
}
