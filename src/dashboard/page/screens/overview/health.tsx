import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { Badge } from '../../ui/badge.js';
import { Facts, type Fact } from '../../ui/facts.js';
import { formatCount, formatNumber, Moment } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';

type Status = components['schemas']['Status'];

const statusRefreshMs = 5_000;

/** The state of the installation. A key of a tenant can't read it. */
export function Health() {
  const { session } = useScope();
  return session.key.tenantId === null ? <AccountHealth /> : null;
}

function AccountHealth() {
  const { api, href } = useScope();
  const status = useQuery({ ...api.admin.query('/status'), refetchInterval: statusRefreshMs });
  return (
    <Panel title="Health" actions={<a href={href('/status')}>Status</a>}>
      <Loaded of={status}>
        {(data) => (
          <>
            <Problems problems={data.problems} />
            <Facts facts={factsOf(data, href)} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function Problems({ problems }: { readonly problems: readonly string[] }) {
  if (problems.length === 0) {
    return (
      <p>
        <Badge tone="good">in order</Badge> Both stores respond, and a worker runs.
      </p>
    );
  }
  return (
    <ul class="problems">
      {problems.map((sentence) => (
        <li key={sentence} class="note error">
          {sentence}
        </li>
      ))}
    </ul>
  );
}

const unknown = 'unknown';

/** A count that should be 0, with a badge where it is not. */
const failing = (count: number, text: string) => (count > 0 ? <Badge tone="bad">{text}</Badge> : text);

function factsOf(status: Status, href: (path: string) => string): Fact[] {
  const { lagEntries, lagSeconds, postgres, webhooks, messages, listed, tenants, processes, restores } = status;
  const outOfSync = listed?.filter(({ state }) => state !== 'in sync').length;
  const roles = processes?.map(({ role, confirmed }) => (confirmed ? role : `${role} (serves nothing)`)).join(', ');
  const newest = restores?.[0];
  return [
    {
      title: 'Lag of Postgres',
      value:
        lagEntries === null || lagSeconds === null ? unknown : `${formatCount(lagEntries, 'entry', 'entries')}, ${lagSeconds.toFixed(1)} s`,
    },
    {
      title: 'Dead letters',
      value: postgres ? <a href={href('/status')}>{failing(postgres.deadLetters, formatNumber(postgres.deadLetters))}</a> : unknown,
    },
    {
      title: 'Webhooks',
      value: webhooks ? (
        <a href={href('/webhooks')}>
          {failing(webhooks.failingEndpoints, `${formatCount(webhooks.failingEndpoints, 'endpoint')} failing`)},{' '}
          {formatNumber(webhooks.pending)} pending, {formatNumber(webhooks.failed)} failed
        </a>
      ) : (
        unknown
      ),
    },
    {
      title: 'Messages',
      value: messages ? (
        <a href={href('/messages')}>
          {failing(messages.failed, `${formatNumber(messages.failed)} failed`)}, {formatNumber(messages.pending)} pending
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
          <a href={href('/tenants')}>{failing(outOfSync, `${formatNumber(outOfSync)} of ${formatNumber(tenants)}`)}</a>
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
