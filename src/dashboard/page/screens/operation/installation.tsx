import '../common/screens.css';
import { useScope } from '../../scope/scope.js';
import { Facts } from '../../ui/facts.js';
import { formatCount, formatNumber, Moment } from '../../ui/format.js';
import { Panel, Stat } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { Problems, type Status, statusRefreshMs, useStatus } from '../common/problems.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { Leases, Processes, Restores, SyncedTenants } from './status-tables.js';

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
