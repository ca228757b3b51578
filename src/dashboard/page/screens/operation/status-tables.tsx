import type { components } from '../../api/schema/admin.js';
import { baseOf } from '../../scope/scope.js';
import { formatCount, formatNumber, Moment } from '../../ui/format.js';
import { Table } from '../../ui/table.js';
import { StatusBadge } from '../common/status-badge.js';

type Status = components['schemas']['Status'];

interface OfStatus {
  readonly status: Status;
}

/** Instead of an empty table: Postgres knows what would be in it. */
const isUnknown = 'Unknown, because Postgres does not respond.';

export function Processes({ status: { processes } }: OfStatus) {
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
export function Leases({ status: { postgres } }: OfStatus) {
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

export function SyncedTenants({ status: { listed, tenants } }: OfStatus) {
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

export function Restores({ status: { restores } }: OfStatus) {
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
