import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { given } from '../../api/given.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { SelectField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { filterOptions, filterValue } from '../common/filters.js';
import { StatusBadge } from '../common/status-badge.js';
import { UserFilter } from '../common/user-filter.js';
import { MessageDialog } from './message-dialog.js';
import { channelNames, statusNames, typeNames } from './names.js';

type Message = components['schemas']['Message'];

/** The messages that match the filters in the address. */
export function Deliveries() {
  const { api, href } = useScope();
  const address = useAddress();
  const paging = usePaging(address);
  const [opened, setOpened] = useState<Message>();
  const { query } = address;
  const filters = {
    type: filterValue(typeNames, query['type']),
    channel: filterValue(channelNames, query['channel']),
    status: filterValue(statusNames, query['status']),
    userId: query['user'],
  };
  const read = useQuery(api.admin.query('/messages', { params: { query: given({ ...filters, ...paging.range }) } }));
  return (
    <Panel title="Messages">
      <Filters />
      <PagedTable
        caption="Messages"
        of={read}
        paging={paging}
        keyOf={({ id }) => id}
        empty="No messages match."
        columns={[
          { title: 'Due', cell: ({ due }) => <Moment at={due} /> },
          { title: 'User', cell: ({ userId }) => <a href={href(`/users/${encodeURIComponent(userId)}`)}>{userId}</a> },
          { title: 'Type', cell: ({ type }) => typeNames[type] },
          { title: 'Channel', cell: ({ channel }) => channelNames[channel] },
          { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
          { title: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts },
          { title: 'Clicks', isNumber: true, cell: ({ clicks }) => clicks },
          {
            title: 'Details',
            cell: (message) => (
              <button
                type="button"
                class="plain show"
                aria-label={`Show the message to ${message.userId}`}
                onClick={() => {
                  setOpened(message);
                }}
              >
                Show
              </button>
            ),
          },
        ]}
      />
      {opened && (
        <MessageDialog
          message={opened}
          onClose={() => {
            setOpened(undefined);
          }}
        />
      )}
    </Panel>
  );
}

function Filters() {
  const { query, change } = useAddress();
  const select = (name: string, label: string, names: Readonly<Record<string, string>>) => (
    <SelectField
      label={label}
      value={query[name] ?? ''}
      onChange={(value) => {
        change({ [name]: value });
      }}
      options={filterOptions(names)}
    />
  );
  return (
    <UserFilter>
      {select('type', 'Type', typeNames)}
      {select('channel', 'Channel', channelNames)}
      {select('status', 'Status', statusNames)}
    </UserFilter>
  );
}
