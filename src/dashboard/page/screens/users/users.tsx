import { useQuery } from '@tanstack/preact-query';
import './users.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { Change } from '../../ui/change-dialog.js';
import { Facts } from '../../ui/facts.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Page, Panel } from '../../ui/page.js';
import { TextField } from '../../ui/field.js';
import { useAddress } from '../../scope/use-address.js';
import { ExportButtons } from '../common/export-buttons.js';
import { ForUsersDialog } from '../common/for-users.js';
import type { SendUsers } from '../common/user-list.js';
import { UserLink } from '../common/user-link.js';

type User = components['schemas']['User'];

/** How long a pause in typing starts a search. */
const searchDelayMs = 250;

/** The text of the search field, which the address follows when the typing pauses. */
function useSearch(): readonly [text: string, change: (text: string) => void] {
  const address = useAddress();
  const searched = address.query['search'] ?? '';
  const [text, setText] = useState(searched);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    setText(searched);
  }, [searched]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
  const change = (next: string): void => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      address.change({ search: next });
    }, searchDelayMs);
  };
  return [text, change];
}

/** Exports of what the users did. */
function Activity() {
  const { api } = useScope();
  const facts = [
    {
      title: 'Events',
      value: (
        <div class="actions">
          <ExportButtons
            name="events"
            read={(format) => api.admin.GET('/exports/events', { params: { query: { format } }, parseAs: 'blob' })}
          />
        </div>
      ),
    },
    {
      title: 'Awards of points',
      value: (
        <div class="actions">
          <ExportButtons
            name="awards"
            read={(format) => api.admin.GET('/exports/awards', { params: { query: { format } }, parseAs: 'blob' })}
          />
        </div>
      ),
    },
  ];
  return (
    <Panel title="What all users did">
      <Facts facts={facts} />
    </Panel>
  );
}

function FreezesDialog({ close }: { readonly close: () => void }) {
  const { api } = useScope();
  const send: SendUsers = async (ids, dryRun) => {
    const body = { freezes: ids.map((userId) => ({ userId })), dryRun };
    return dataOf(await api.admin.POST('/streaks/freezes', { body })).issues;
  };
  return (
    <ForUsersDialog
      title="Give freezes"
      about="Each of these users gets one more freeze, beyond the configured maximum if necessary."
      verb="Give freezes to"
      send={send}
      close={close}
    />
  );
}

/** Finds a user. */
export default function Users() {
  const { api } = useScope();
  const address = useAddress();
  const paging = usePaging(address);
  const search = address.query['search'] ?? '';
  const [text, setText] = useSearch();
  const query = { ...paging.range, ...(search === '' ? {} : { search }) };
  const users = useQuery(api.admin.query('/users', { params: { query } }));
  return (
    <Page title="Users" actions={<Change verb="Give freezes">{(close) => <FreezesDialog close={close} />}</Change>}>
      <Panel
        title="All users"
        actions={
          <ExportButtons
            name="users"
            read={(format) => api.admin.GET('/exports/users', { params: { query: { format } }, parseAs: 'blob' })}
          />
        }
      >
        <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
          <TextField
            label="Search"
            type="search"
            hint="The start of an id, of an email address, or of the words of a name."
            value={text}
            onChange={setText}
          />
        </form>
        <PagedTable<User>
          caption="Users"
          of={users}
          paging={paging}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Id', cell: ({ id }) => <UserLink id={id} /> },
            { title: 'Name', cell: ({ name }) => name ?? <span class="none">none</span> },
            { title: 'Email', cell: ({ email }) => email ?? <span class="none">none</span> },
            { title: 'Time zone', cell: ({ tz }) => tz ?? <span class="none">default</span> },
            { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
          ]}
          empty={
            search === ''
              ? 'No users yet. The first event of a user creates the user.'
              : 'No user matches. Search for the start of an id, of an email address, or of the words of a name.'
          }
        />
      </Panel>
      <Activity />
    </Page>
  );
}
