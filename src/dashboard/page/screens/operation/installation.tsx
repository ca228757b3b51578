import '../common/screens.css';
import { useScope, baseOf } from '../../scope/scope.js';
import { Facts } from '../../ui/facts.js';
import { formatCount, formatNumber, Moment } from '../../ui/format.js';
import { Panel, Stat } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { Problems, type Status, statusRefreshMs, useStatus } from '../common/problems.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { Table } from '../../ui/table.js';
import { StatusBadge } from '../common/status-badge.js';

interface OfStatus {
  readonly status: Status;
}

/** Instead of an empty table: Postgres knows what would be in it. */
const isUnknown = 'Unknown, because Postgres does not respond.';

function Processes({ status: { processes } }: OfStatus) {
  return (
    <Table
      caption="Processes"
      rows={processes ?? []}
      keyOf={({ host, pid }) => `${host} ${pid}`}
      empty={processes ? 'No process has reached this Postgres in the last seconds.' : isUnknown}
      columns={[
        { title: 'Role', cell: ({ role }) => <span class="nowrap">{role}</span> },
        { title: 'Process', cell: ({ host, pid }) => `${pid} on ${host}` },
        {
          title: 'Redis',
          cell: ({ redis, prefix, confirmed }) => (
            <>
              {`${redis}, prefix ${prefix}`}
              {!confirmed && <div class="problem">Not serving: its Redis is unavailable or out of sync.</div>}
            </>
          ),
        },
      ]}
    />
  );
}

/** Which workers write the ledgers to Postgres. */
function Leases({ status: { postgres } }: OfStatus) {
  return (
    <Table
      caption="Leases of ledgers"
      rows={postgres?.leases ?? []}
      keyOf={({ holder }) => holder}
      empty={postgres ? 'No worker holds the lease of a ledger now. A worker takes it to write entries to Postgres.' : isUnknown}
      columns={[
        { title: 'Writes ledgers to Postgres', cell: ({ holder }) => <code>{holder}</code> },
        { title: 'Tenants', isNumber: true, cell: ({ tenants }) => formatNumber(tenants) },
      ]}
    />
  );
}

function SyncedTenants({ status: { listed, tenants } }: OfStatus) {
  return (
    <>
      <Table
        caption="Tenants"
        rows={listed ?? []}
        keyOf={({ id }) => id}
        empty="Unknown, because Redis or Postgres does not respond."
        columns={[
          {
            title: 'Tenant',
            cell: ({ id, name }) => (id === 'default' ? <span class="nowrap">{name}</span> : <a href={`${baseOf(id)}/`}>{name}</a>),
          },
          {
            title: 'Redis and Postgres',
            cell: ({ state, restored, epoch, redisEpoch, postgresIsOlder }) => (
              <>
                <StatusBadge status={state} /> {restored !== null && `${formatCount(restored, 'user')} so far`}
                {postgresIsOlder && <div class="hint">Postgres is older than Redis.</div>}
                {state === 'out of sync' && <div class="hint">{`Postgres has the epoch ${epoch}, Redis ${redisEpoch ?? 'none'}.`}</div>}
              </>
            ),
          },
          {
            title: 'Behind by',
            isNumber: true,
            cell: ({ lagEntries, lagSeconds }) =>
              `${formatCount(lagEntries, 'entry', 'entries')}, ${formatNumber(Math.round(lagSeconds))} s`,
          },
        ]}
      />
      <p class="hint">
        {tenants !== null && `${formatCount(tenants, 'tenant')} in all. `}Besides the default tenant, only those that are out of sync or
        more than a minute behind are listed.
      </p>
    </>
  );
}

function Restores({ status: { restores } }: OfStatus) {
  return (
    <Table
      caption="Restores"
      rows={restores ?? []}
      keyOf={({ tenantId, ended }) => `${tenantId} ${ended}`}
      empty={restores ? 'Redis has never been restored from Postgres.' : isUnknown}
      columns={[
        { title: 'Tenant', cell: ({ tenantId }) => <code>{tenantId}</code> },
        { title: 'Ended the epoch before', cell: ({ ended }) => <Moment at={ended} /> },
      ]}
    />
  );
}

const bytesPerMb = 2 ** 20;

const unknown = 'unknown';

const megabytes = (bytes: number): string => `${formatNumber(Math.round(bytes / bytesPerMb))} MB`;

/** What `laurel status` prints, and more. */
export function Installation() {
  const read = useStatus(statusRefreshMs);
  return (
    <Loaded of={read}>
      {(status) => (
        <>
          <Problems problems={status.problems} />
          <Figures status={status} />
          <div class="columns">
            <Stores status={status} />
            <Panel title="Processes">
              <Processes status={status} />
              <Leases status={status} />
              <Runbooks names={runbooks.processes} />
            </Panel>
            <Panel title="Tenants">
              <SyncedTenants status={status} />
              <Runbooks names={runbooks.tenants} />
            </Panel>
            <Panel title="Restores">
              <Restores status={status} />
              <Runbooks names={runbooks.restores} />
            </Panel>
          </div>
        </>
      )}
    </Loaded>
  );
}

function Figures({ status }: { readonly status: Status }) {
  const { href } = useScope();
  const { webhooks, messages, postgres } = status;
  return (
    <div class="stats">
      <Stat label="Version" value={status.version} detail={status.now !== null && <Moment at={status.now} />} />
      <Stat
        label="Configuration"
        value={status.configurationVersion ?? unknown}
        detail={<a href={href('/versions')}>See all versions</a>}
      />
      <Stat
        label="Postgres is behind by"
        value={status.lagSeconds === null ? unknown : `${formatNumber(Math.round(status.lagSeconds))} s`}
        detail={status.lagEntries !== null && formatCount(status.lagEntries, 'entry', 'entries')}
      />
      <Stat
        label="Webhooks waiting"
        value={webhooks ? formatNumber(webhooks.pending) : unknown}
        detail={
          webhooks && (
            <a href={href('/webhooks')}>
              {formatNumber(webhooks.failed)} failed, {formatCount(webhooks.failingEndpoints, 'endpoint')} failing
            </a>
          )
        }
      />
      <Stat
        label="Messages waiting"
        value={messages ? formatNumber(messages.pending) : unknown}
        detail={messages && <a href={href('/messages?status=failed')}>{formatNumber(messages.failed)} failed</a>}
      />
      <Stat label="Dead letters" value={postgres ? formatNumber(postgres.deadLetters) : unknown} detail="of all tenants" />
    </div>
  );
}

function Stores({ status: { redis, postgres } }: { readonly status: Status }) {
  return (
    <Panel title="Stores">
      <h3>Redis</h3>
      {redis ? (
        <Facts
          facts={[
            { title: 'Version', value: redis.version },
            { title: 'Memory', value: megabytes(redis.memoryBytes) },
            { title: 'Replicas', value: redis.replicas },
            { title: 'Append-only file', value: redis.appendOnlyFile ? 'in order' : 'missing, or not writable' },
          ]}
        />
      ) : (
        <p class="problem">Redis does not respond.</p>
      )}
      <Runbooks names={runbooks.redis} />
      <h3>Postgres</h3>
      {postgres ? (
        <Facts
          facts={[
            { title: 'Version', value: postgres.version },
            { title: 'Size', value: megabytes(postgres.databaseBytes) },
            { title: 'Schema', value: postgres.schema },
          ]}
        />
      ) : (
        <p class="problem">Postgres does not respond.</p>
      )}
      <Runbooks names={[...runbooks.postgres, ...runbooks.ledger]} />
    </Panel>
  );
}
