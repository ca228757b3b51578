import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../../api/schema/admin.js';
import { useScope } from '../../../scope/scope.js';
import { Moment } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { Loaded } from '../../../ui/states.js';
import { Table } from '../../../ui/table.js';
import { StatusBadge } from '../../common/status-badge.js';
import { useUser } from '../user-context.js';

type Message = components['schemas']['Message'];

const messagesShown = 5;

/** The newest messages to the user, by when they were due. */
export function MessagesPanel() {
  const { api, href } = useScope();
  const { id } = useUser().profile;
  const messages = useQuery(api.admin.query('/messages', { params: { query: { userId: id, limit: messagesShown } } }));
  const all = href(`/messages?user=${encodeURIComponent(id)}`);
  return (
    <div id="messages">
      <Panel title="Messages" actions={<a href={all}>All messages</a>}>
        <Loaded of={messages}>
          {(rows) => (
            <Table<Message>
              caption="Newest messages"
              rows={rows.toSorted((one, other) => other.due.localeCompare(one.due))}
              keyOf={(row) => row.id}
              columns={[
                { title: 'Due', cell: ({ due }) => <Moment at={due} /> },
                { title: 'Message', cell: ({ type, channel }) => `${type.replaceAll('_', ' ')} (${channel})` },
                { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
              ]}
              empty="No messages in the last week."
            />
          )}
        </Loaded>
      </Panel>
    </div>
  );
}
