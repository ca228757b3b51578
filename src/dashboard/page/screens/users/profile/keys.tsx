import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { wholeBatch } from '../../../api/errors.js';
import type { components } from '../../../api/schema/admin.js';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { Moment } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { ListPager, type Paging } from '../../../ui/paged-table.js';
import { SecretDialog } from '../../../ui/secret.js';
import { Loaded } from '../../../ui/states.js';
import { Table } from '../../../ui/table.js';
import { limitsOf } from '../../common/key-limits.js';
import { UserChangeDialog } from '../change.js';
import { CreateApplicationKey } from './create-key.js';
import { useUser } from '../user-context.js';

type Key = components['schemas']['ApplicationKey'];

const keysShown = 5;

/** The application keys of the user. */
export function KeysPanel() {
  const { api } = useScope();
  const { id } = useUser().profile;
  const [page, setPage] = useState(1);
  const paging: Paging = {
    page,
    rowsPerPage: keysShown,
    go: setPage,
    range: { limit: keysShown + 1, skip: (page - 1) * keysShown },
  };
  const keys = useQuery(api.admin.query('/application-api-keys', { params: { query: { userId: id, ...paging.range } } }));
  return (
    <div id="keys">
      <Panel title="Application keys" actions={<CreateKey />}>
        <Loaded of={keys}>
          {(rows) => (
            <>
              <Table<Key>
                caption="Application keys of the user"
                rows={rows.slice(0, keysShown)}
                keyOf={(key) => key.id}
                columns={[
                  { title: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
                  { title: 'Limits', cell: (key) => limitsOf(key) },
                  { title: 'Expires', cell: ({ expires }) => <Moment at={expires} /> },
                  { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
                  { title: 'Last used', cell: ({ lastUsed }) => <Moment at={lastUsed} /> },
                  { title: 'Action', cell: (key) => <RevokeKey id={key.id} prefix={key.prefix} /> },
                ]}
                empty="No keys. An application key lets the user’s own device read and change the data of this user only."
              />
              <ListPager of="Application keys" paging={paging} rows={rows.length} />
            </>
          )}
        </Loaded>
      </Panel>
    </div>
  );
}

function CreateKey() {
  const user = useUser();
  const [secret, setSecret] = useState<string>();
  const created = (key: string): void => {
    setSecret(key);
    user.say('The application key is created.');
  };
  return (
    <>
      <Change verb="Create a key">{(close) => <CreateApplicationKey userId={user.profile.id} onCreated={created} close={close} />}</Change>
      {secret !== undefined && (
        <SecretDialog
          title="Application key"
          secret={secret}
          about="Store it where the user’s app reads it: it allows access to the data of this user only."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  );
}

function RevokeKey({ id, prefix }: { readonly id: string; readonly prefix: string }) {
  const { api } = useScope();
  const revoke = async (): Promise<string> => {
    wholeBatch(await api.admin.DELETE('/application-api-keys', { params: { query: { ids: [id] } } }));
    return `The key ${prefix} is revoked.`;
  };
  return (
    <Change verb="Revoke" label={`Revoke the key ${prefix}`}>
      {(close) => (
        <UserChangeDialog title={`Revoke the key ${prefix}`} confirm="Revoke the key" isDangerous close={close} change={revoke}>
          <p>Requests with this key are refused within a second. It can’t be undone: create another key instead.</p>
        </UserChangeDialog>
      )}
    </Change>
  );
}
