import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Moment } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { ListPager, type Paging } from '../../ui/paged-table.js';
import { SecretDialog } from '../../ui/secret.js';
import { Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { limitsOf } from '../keys/limits.js';
import { Change, ChangeDialog } from './change.js';
import { CreateApplicationKey } from './create-key.js';
import { useUser, useUserRead } from './user-context.js';

type Key = components['schemas']['ApplicationKey'];

const keysShown = 5;

/** The application keys of the user. */
export function KeysPanel() {
  const { api } = useScope();
  const { id } = useUser().profile;
  const [page, setPage] = useState(1);
  const paging: Paging = {
    ...{ page, rowsPerPage: keysShown, go: setPage },
    range: { limit: keysShown + 1, skip: (page - 1) * keysShown },
  };
  const keys = useUserRead(() => api.admin.GET('/application-api-keys', { params: { query: { userId: id, ...paging.range } } }), [page]);
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
              <ListPager paging={paging} rows={rows.length} />
            </>
          )}
        </Loaded>
      </Panel>
    </div>
  );
}

function CreateKey() {
  const user = useUser();
  const [isCreating, setIsCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    setIsCreating(false);
  };
  return (
    <>
      <ChangeButton
        onClick={() => {
          setIsCreating(true);
        }}
      >
        Create a key
      </ChangeButton>
      {isCreating && (
        <CreateApplicationKey
          userId={user.profile.id}
          onCreated={(key) => {
            close();
            setSecret(key);
            user.changed('The application key is created.');
          }}
          onClose={close}
        />
      )}
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
        <ChangeDialog title={`Revoke the key ${prefix}`} confirm="Revoke the key" isDangerous close={close} run={revoke}>
          <p>Requests with this key are refused within a second. It can’t be undone: create another key instead.</p>
        </ChangeDialog>
      )}
    </Change>
  );
}
