import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../api/schema/admin.js';
import { wholeBatch } from '../../api/errors.js';
import { given } from '../../api/given.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { UserFilter } from '../common/user-filter.js';
import { UserLink } from '../common/user-link.js';
import { limitsOf } from '../common/key-limits.js';

/** The application keys of a tenant, each for the data of one user. */
export function ApplicationKeys() {
  const { api } = useScope();
  const address = useAddress();
  const userId = address.query['user'];
  const paging = usePaging(address, 'applicationKeys', 10);
  const query = given({ userId, ...paging.range });
  const read = useQuery(api.admin.query('/application-api-keys', { params: { query } }));
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
          { title: 'User', cell: (key) => <UserLink id={key.userId} /> },
          { title: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
          { title: 'Limits', cell: (key) => limitsOf(key) },
          { title: 'Expires', cell: ({ expires }) => <Moment at={expires} /> },
          { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
          { title: 'Last used', cell: ({ lastUsed }) => <Moment at={lastUsed} /> },
          {
            title: 'Actions',
            cell: (key) => (
              <Change verb="Revoke" label={`Revoke the key ${key.prefix}`}>
                {(close) => <RevokeDialog of={key} close={close} />}
              </Change>
            ),
          },
        ]}
      />
    </Panel>
  );
}

interface RevokeDialogProps {
  readonly of: components['schemas']['ApplicationKey'];
  readonly close: () => void;
}

function RevokeDialog({ of: { id, userId }, close }: RevokeDialogProps) {
  const { api } = useScope();
  const revoke = async () => wholeBatch(await api.admin.DELETE('/application-api-keys', { params: { query: { ids: [id] } } }));
  return (
    <ChangeDialog title="Revoke an application key" confirm="Revoke the key" isDangerous close={close} change={revoke}>
      <p>Every process refuses the key of {userId} within a second. You cannot activate it again.</p>
    </ChangeDialog>
  );
}
