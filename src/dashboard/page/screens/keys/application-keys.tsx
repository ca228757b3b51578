import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import { given } from '../../api/given.js';
import { useAction, useRead } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { useAddress } from '../../use-address.js';
import { ChangeButton } from '../../ui/change-button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { UserFilter } from '../user-filter.js';
import { limitsOf } from './limits.js';

/** The application keys of a tenant, each for the data of one user. */
export function ApplicationKeys() {
  const { api, href } = useScope();
  const address = useAddress();
  const userId = address.query['user'];
  const paging = usePaging(address, 'applicationKeys', 10);
  const query = given({ userId, ...paging.range });
  const read = useRead(() => api.admin.GET('/application-api-keys', { params: { query } }), [api, userId, paging.page]);
  const [revoking, setRevoking] = useState<{ readonly id: string; readonly userId: string }>();
  const close = (): void => {
    setRevoking(undefined);
  };
  const revoke = useAction(async () => {
    wholeBatch(await api.admin.DELETE('/application-api-keys', { params: { query: { ids: revoking ? [revoking.id] : [] } } }));
    close();
    read.reload();
  });
  return (
    <Panel title="Application keys" actions={<UserFilter />}>
      <PagedTable
        caption="Application keys"
        of={read}
        paging={paging}
        keyOf={({ id }) => id}
        empty={
          userId === undefined
            ? 'There are no application keys. Create one on the screen of a user, for an app that calls Laurel for that user alone.'
            : `${userId} has no application keys.`
        }
        columns={[
          { title: 'User', cell: (key) => <a href={href(`/users/${encodeURIComponent(key.userId)}`)}>{key.userId}</a> },
          { title: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
          { title: 'Limits', cell: (key) => limitsOf(key) },
          { title: 'Expires', cell: ({ expires }) => <Moment at={expires} /> },
          { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
          { title: 'Last used', cell: ({ lastUsed }) => <Moment at={lastUsed} /> },
          {
            title: 'Actions',
            cell: (key) => (
              <ChangeButton
                label={`Revoke the key ${key.prefix}`}
                onClick={() => {
                  setRevoking(key);
                }}
              >
                Revoke
              </ChangeButton>
            ),
          },
        ]}
      />
      {revoking && (
        <ConfirmDialog
          title="Revoke an application key"
          confirm="Revoke the key"
          isDangerous
          isRunning={revoke.isRunning}
          error={revoke.error}
          onConfirm={() => void revoke.run()}
          onClose={close}
        >
          <p>Every process refuses the key of {revoking.userId} within a second. You cannot activate it again.</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}
