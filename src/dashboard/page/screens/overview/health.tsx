import { useScope } from '../../scope/scope.js';
import { Facts, type Fact } from '../../ui/facts.js';
import { formatCount, formatNumber, Moment } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { Problems, type Status, statusRefreshMs, useStatus } from '../common/problems.js';

/** What is wrong with the installation; nothing when nothing is. */
export function HealthProblems() {
  const { data } = useStatus(statusRefreshMs);
  return data !== undefined && data.problems.length > 0 ? <Problems problems={data.problems} /> : null;
}

/** The state of the installation. A key of a tenant can't read it. */
export function Health() {
  const { session } = useScope();
  return session.key.tenantId === null ? <AccountHealth /> : null;
}

function AccountHealth() {
  const { href } = useScope();
  const status = useStatus(statusRefreshMs);
  return (
    <Panel title="Health" actions={<a href={href('/status')}>Status</a>}>
      <Loaded of={status}>
        {(data) => (
          <>
            {data.problems.length === 0 && <Problems problems={[]} />}
            <Facts facts={factsOf(data, href)} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

const unknown = 'unknown';

function factsOf(status: Status, href: (path: string) => string): Fact[] {
  const { lagEntries, lagSeconds, postgres, webhooks, messages, listed, tenants, processes, restores } = status;
  const outOfSync = listed?.filter(({ state }) => state !== 'in sync').length;
  const roles = processes?.map(({ role, confirmed }) => (confirmed ? role : `${role} (not serving)`)).join(', ');
  const newest = restores?.[0];
  return [
    {
      title: 'Lag of Postgres',
      value:
        lagEntries === null || lagSeconds === null ? unknown : `${formatCount(lagEntries, 'entry', 'entries')}, ${lagSeconds.toFixed(1)} s`,
    },
    {
      title: 'Dead letters',
      value: postgres ? <a href={href('/status')}>{formatNumber(postgres.deadLetters)}</a> : unknown,
    },
    {
      title: 'Webhooks',
      value: webhooks ? (
        <a href={href('/webhooks')}>
          {formatCount(webhooks.failingEndpoints, 'endpoint')} failing, {formatNumber(webhooks.pending)} pending,{' '}
          {formatNumber(webhooks.failed)} failed
        </a>
      ) : (
        unknown
      ),
    },
    {
      title: 'Messages',
      value: messages ? (
        <a href={href('/messages')}>
          {formatNumber(messages.failed)} failed, {formatNumber(messages.pending)} pending
        </a>
      ) : (
        unknown
      ),
    },
    {
      title: 'Tenants out of sync',
      value:
        outOfSync === undefined || tenants === null ? (
          unknown
        ) : (
          <a href={href('/tenants')}>
            {formatNumber(outOfSync)} of {formatNumber(tenants)}
          </a>
        ),
    },
    { title: 'Processes', value: processes ? `${formatNumber(processes.length)}${roles ? `: ${roles}` : ''}` : unknown },
    {
      title: 'Last restore',
      value:
        restores === null ? (
          unknown
        ) : newest ? (
          <>
            <Moment at={newest.ended} />, tenant {newest.tenantId}
          </>
        ) : (
          <span class="none">never</span>
        ),
    },
  ];
}
