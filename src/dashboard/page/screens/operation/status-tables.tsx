import type { components } from '../../api/schema/admin.js';
import { baseOf } from '../../scope.js';
import { formatCount, formatNumber, Moment } from '../../ui/format.js';
import { Table } from '../../ui/table.js';
import { StatusBadge } from '../status-badge.js';

type Status = components['schemas']['Status'];

interface OfStatus {
  readonly status: Status;
}

export function Processes({ status: { processes } }: OfStatus) {
  return (
    <Table
      caption="Processes"
      rows={processes}
      keyOf={({ host, pid }) => `${host} ${pid}`}
      empty="No process has confirmed its Redis in the last seconds."
      columns={[
        { title: 'Role', cell: ({ role }) => <span class="nowrap">{role}</span> },
        { title: 'Process', cell: ({ host, pid }) => `${pid} on ${host}` },
        { title: 'Redis', cell: ({ redis, prefix }) => `${redis}, prefix ${prefix}` },
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
      empty="No worker holds the lease of a ledger now. A worker takes it to write entries to Postgres."
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
        rows={listed}
        keyOf={({ id }) => id}
        empty="The stores do not respond, so the tenants are unknown."
        columns={[
          {
            title: 'Tenant',
            cell: ({ id, name }) => (id === 'default' ? <span class="nowrap">{name}</span> : <a href={`${baseOf(id)}/`}>{name}</a>),
          },
          {
            title: 'Redis and Postgres',
            cell: ({ state, restored, epoch, redisEpoch }) => (
              <>
                <StatusBadge status={state} /> {restored !== null && `${formatCount(restored, 'user')} so far`}
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
        {formatCount(tenants, 'tenant')} in all. Besides the default tenant, only those that are out of sync or more than a minute behind
        are listed.
      </p>
    </>
  );
}

export function Restores({ status: { restores } }: OfStatus) {
  return (
    <Table
      caption="Restores"
      rows={restores}
      keyOf={({ tenantId, ended }) => `${tenantId} ${ended}`}
      empty="Redis has never been restored from Postgres."
      columns={[
        { title: 'Tenant', cell: ({ tenantId }) => <code>{tenantId}</code> },
        { title: 'Ended the epoch before', cell: ({ ended }) => <Moment at={ended} /> },
      ]}
    />
  );
}
