import { useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../api/errors.js';
import { given } from '../../api/given.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { SelectField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import { usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { type DeliveryDetails, DeliveryList } from '../common/deliveries.js';
import { ExportButtons } from '../common/export-buttons.js';
import { filterOptions, filterValue } from '../common/filters.js';
import { ResendFailed } from '../common/resend-failed.js';
import { UserLink, UserFilter } from '../common/user-link.js';
import { channelNames, statusNames, typeNames } from './names.js';

type Message = components['schemas']['Message'];

/** What is sent again, in words: the filters by type and channel apply. */
function failedOf({
  type,
  channel,
}: {
  readonly type: Message['type'] | undefined;
  readonly channel: Message['channel'] | undefined;
}): string {
  const names = [type && typeNames[type], channel && channelNames[channel]].filter((name) => name !== undefined);
  return names.length === 0 ? 'all failed messages' : `failed messages (${names.join(', ')})`;
}

/** The messages that match the filters in the address. */
export function Deliveries() {
  const { api } = useScope();
  const address = useAddress();
  const paging = usePaging(address);
  const { query } = address;
  const filters = {
    type: filterValue(typeNames, query['type']),
    channel: filterValue(channelNames, query['channel']),
    status: filterValue(statusNames, query['status']),
    userId: query['user'],
  };
  const read = useQuery(api.admin.query('/messages', { params: { query: given({ ...filters, ...paging.range }) } }));
  const detailsOf = ({ id, userId, type, channel, due, about }: Message): DeliveryDetails => ({
    title: `${typeNames[type]} · ${channelNames[channel]}`,
    label: `the message to ${userId}`,
    moment: { title: 'Due', value: <Moment at={due} /> },
    idTitle: 'Id',
    content: { title: 'About', value: about },
    hint: 'Laurel checks again whether the user may receive it, and skips it otherwise.',
    resend: () => api.admin.POST('/messages/{id}/resend', { params: { path: { id } } }),
  });
  return (
    <Panel
      title="Messages"
      actions={
        <>
          <ExportButtons
            name="messages"
            read={(format) => api.admin.GET('/exports/messages', { params: { query: { format } }, parseAs: 'blob' })}
          />
          <ResendFailed
            what="failed messages"
            about={`Sends ${failedOf(filters)} again, the oldest first. Laurel skips those that their users must not receive any more.`}
            resend={async (span) => {
              const body = given({ ...span, type: filters.type, channel: filters.channel });
              return dataOf(await api.admin.POST('/messages/resend', { body }));
            }}
          />
        </>
      }
    >
      <Filters />
      <DeliveryList
        caption="Messages"
        of={read}
        paging={paging}
        empty="No messages match."
        first={[
          { title: 'Due', cell: ({ due }) => <Moment at={due} /> },
          { title: 'User', cell: ({ userId }) => <UserLink id={userId} /> },
          { title: 'Type', cell: ({ type }) => typeNames[type] },
          { title: 'Channel', cell: ({ channel }) => channelNames[channel] },
        ]}
        last={[{ title: 'Clicks', isNumber: true, cell: ({ clicks }) => clicks }]}
        detailsOf={detailsOf}
      />
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
