import { useScope } from '../../scope/scope.js';
import { Page, Panel, Stat } from '../../ui/page.js';
import { Deliveries } from './deliveries.js';
import { Suppressions } from './suppressions.js';
import { useQuery, useMutation } from '@tanstack/preact-query';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber } from '../../ui/format.js';
import { Loaded, ErrorNote } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { StatusBadge } from '../common/status-badge.js';
import { channelNames, typeNames } from './names.js';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { SelectField } from '../../ui/field.js';
import { filterValue } from '../common/filters.js';

/** How many messages there are by type, channel and status, each with the list of them. */
function Totals() {
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

type Type = components['schemas']['Message']['type'];

/** Counts the users whom a type would reach. */
function Recipients() {
  const { api } = useScope();
  const [type, setType] = useState<Type>('recap');
  const [counted, setCounted] = useState<{ readonly type: Type; readonly email: number; readonly push: number }>();
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => dataOf(await api.admin.GET('/messages/recipients', { params: { query: { type } } })),
    onSuccess: setCounted,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate();
  };
  return (
    <Panel title="Count recipients">
      <p class="hint">
        Counts the users whom a type would reach on their current local day. Sends nothing. With a million users it takes about a minute.
      </p>
      <form class="inline" onSubmit={submit}>
        <SelectField
          label="Type"
          value={type}
          onChange={(value) => {
            setType(filterValue(typeNames, value) ?? type);
          }}
          options={Object.entries(typeNames).map(([value, label]) => ({ value, label }))}
        />
        <button type="submit" disabled={isPending}>
          {isPending ? 'Counting' : 'Count recipients'}
        </button>
      </form>
      {isPending && <progress aria-label="Counting recipients" />}
      {error && <ErrorNote error={error} />}
      <div role="status">
        {counted && (
          <div class="stats">
            <Stat label={`${typeNames[counted.type]} by email`} value={formatNumber(counted.email)} detail="users" />
            <Stat label={`${typeNames[counted.type]} by push`} value={formatNumber(counted.push)} detail="users" />
          </div>
        )}
      </div>
    </Panel>
  );
}

/** Messages to users: what was sent, whom a type would reach, and addresses that receive nothing. */
export default function Messages() {
  const { href } = useScope();
  return (
    <Page
      title="Messages"
      about="Emails and push notifications to users of the last seven days."
      actions={
        <>
          <a class="button" href={href('/templates')}>
            Edit templates
          </a>
          <a class="button" href={href('/configuration/messages')}>
            Configure messages
          </a>
        </>
      }
    >
      <Totals />
      <Deliveries />
      <div class="columns">
        <Recipients />
        <Suppressions />
      </div>
    </Page>
  );
}
