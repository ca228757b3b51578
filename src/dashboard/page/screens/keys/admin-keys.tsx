import { useQuery } from '@tanstack/preact-query';
import '../common/screens.css';
import { useState } from 'preact/hooks';
import { baseOf, useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { SecretDialog } from '../../ui/secret.js';
import { StatusBadge } from '../common/status-badge.js';
import { CreateKeyDialog } from './create-key.js';
import { KeyDialog, type KeyTask } from './key-dialogs.js';
import type { AdminKey } from './types.js';

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
