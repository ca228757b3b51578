import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { StatusBadge } from '../common/status-badge.js';
import { channelNames, typeNames } from './names.js';

/** How many messages there are by type, channel and status, each with the list of them. */
export function Totals() {
  const { api } = useScope();
  const address = useAddress();
  const read = useQuery(api.admin.query('/messages/totals'));
  return (
    <Panel title="Totals">
      <Loaded of={read}>
        {(totals) => (
          <Table
            caption="Messages by type, channel and status"
            rows={totals}
            keyOf={({ type, channel, status }) => `${type} ${channel} ${status}`}
            empty="No messages in the last seven days. They start when the configuration has channels for a type, and users are due."
            columns={[
              { title: 'Type', cell: ({ type }) => typeNames[type] },
              { title: 'Channel', cell: ({ channel }) => channelNames[channel] },
              { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
              {
                title: 'Messages',
                isNumber: true,
                cell: ({ type, channel, status, count }) => (
                  <a href={address.with({ type, channel, status, user: undefined })}>{formatNumber(count)}</a>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <Runbooks names={runbooks.messages} />
    </Panel>
  );
}
