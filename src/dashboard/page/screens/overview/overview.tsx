import { useQuery } from '@tanstack/preact-query';
import { useRef } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import type { Read } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { Page, Stat, Panel } from '../../ui/page.js';
import { Loaded, Empty } from '../../ui/states.js';
import { useAddress } from '../../scope/use-address.js';
import {
  dateAfter,
  rangeOf,
  todayOf,
  type Today,
  dayRanges,
  type AnalyticsStreaks,
  lengthLabel,
  usedRanges,
  firstEventCommand,
} from './analytics.js';
import { Charts } from './charts.js';
import { Health, HealthProblems } from './health.js';
import './overview.css';
import { formatNumber, formatShare } from '../../ui/format.js';
import { Bars } from '../../ui/bars.js';
import { CopyButton } from '../../ui/secret.js';

/** Chooses how many days the charts show, which the address names. */
function RangePicker({ days }: { readonly days: number }) {
  const address = useAddress();
  return (
    <nav class="ranges" aria-label="Days that the charts show">
      {dayRanges.map((range) => (
        <a key={range} class="button" href={address.with({ days: range })} aria-current={range === days ? 'true' : undefined}>
          {range} days
        </a>
      ))}
    </nav>
  );
}

function dayBefore({ events, eventsBefore }: Today): string {
  const share = eventsBefore > 0 ? ` (${events > eventsBefore ? '+' : ''}${formatShare(events / eventsBefore - 1)})` : '';
  return `${formatNumber(eventsBefore)} the day before${share}`;
}

/** The numbers of today, in the local dates of users. */
function Tiles({ today, streaks }: { readonly today: Today; readonly streaks: AnalyticsStreaks | undefined }) {
  const { href } = useScope();
  return (
    <div class="stats">
      <Stat label="Events today" value={formatNumber(today.events)} detail={dayBefore(today)} />
      <Stat label="Active today" value={formatNumber(today.activeUsers)} detail="users with an event" />
      <Stat label="Active in 30 days" value={formatNumber(today.activeUsers30)} detail="users with an event" />
      <Stat label="New users today" value={formatNumber(today.newUsers)} detail={<a href={href('/users')}>All users</a>} />
      <Stat
        label="Achievements today"
        value={formatNumber(today.completions)}
        detail={<a href={href('/achievements')}>All achievements</a>}
      />
      <Stat
        label="Streaks alive"
        value={streaks ? formatNumber(streaks.alive) : '…'}
        detail={streaks && `longest: ${formatNumber(streaks.longest)}`}
      />
    </div>
  );
}

const units = { daily: 'days', weekly: 'weeks', monthly: 'months' } as const;

/** How many users have a streak of which length. */
function Streaks({ of }: { readonly of: Read<AnalyticsStreaks> }) {
  const { href } = useScope();
  return (
    <Panel title="Streaks alive by length">
      <Loaded of={of}>
        {({ alive, lengths, frequency }) =>
          alive === 0 ? (
            <Empty>
              No user has a streak. <a href={href('/configuration/streaks')}>Check the streak conditions</a>.
            </Empty>
          ) : (
            <Bars
              caption="Users by the length of their streak"
              of={`Length in ${units[frequency]}`}
              unit="Users"
              total={alive}
              bars={usedRanges(lengths).map((range) => ({ key: String(range.from), label: lengthLabel(range), value: range.users }))}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What to do in a new installation. */
function FirstEvent() {
  const { api, href, tenant } = useScope();
  const metrics = useQuery(api.admin.query('/metrics', { params: { query: { limit: 1 } } }));
  return (
    <Panel title="Send your first event">
      <Loaded of={metrics}>
        {([metric]) => {
          if (!metric) {
            return (
              <Empty>
                There are no metrics yet. <a href={href('/configuration/metrics')}>Create a metric</a>, then send an event on it.
              </Empty>
            );
          }
          const command = firstEventCommand({ origin: location.origin, metric: metric.key, tenant });
          return (
            <>
              <p>
                No users yet: the first event of a user creates the user. Run this command with your API key. This screen shows the event
                within seconds.
              </p>
              <pre class="command" tabIndex={0}>
                {command}
              </pre>
              <p class="actions">
                <CopyButton text={command} />
              </p>
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

/** How often the numbers of today are read. */
const todayRefreshMs = 5_000;
/** How often the streaks are counted, which reads the streak of every user. */
const streaksRefreshMs = 60_000;

/** The activity and the health of the game. */
export default function Overview() {
  const { query } = useAddress();
  const days = rangeOf(query['days']);
  const today = useToday();
  return (
    <Page title="Overview" actions={<RangePicker days={days} />}>
      <HealthProblems />
      <Loaded of={today}>{({ numbers, isNew }) => (isNew ? <FirstEvent /> : <Activity today={numbers} days={days} />)}</Loaded>
      <Health />
    </Page>
  );
}

function Activity({ today, days }: { readonly today: Today; readonly days: number }) {
  const { api } = useScope();
  const streaks = useQuery({ ...api.admin.query('/analytics/streaks'), refetchInterval: streaksRefreshMs });
  return (
    <>
      <Tiles today={today} streaks={streaks.data} />
      <div class="columns">
        <Charts days={days} lastDay={today.date} />
        <Streaks of={streaks} />
      </div>
    </>
  );
}

/** The numbers of the newest day, and whether the installation has no users yet. */
function useToday(): Read<{ readonly numbers: Today; readonly isNew: boolean }> {
  const { api } = useScope();
  const lastDay = useRef<string>(undefined);
  const today = api.query(['today'], async () => {
    // The clock of the service decides which day is the newest. After the first read, two days are enough.
    const query = lastDay.current === undefined ? {} : { from: dateAfter(lastDay.current, -1) };
    const numbers = dataOf<Today>({ data: todayOf(dataOf(await api.admin.GET('/analytics/days', { params: { query } }))) });
    lastDay.current = numbers.date;
    if (numbers.activeUsers30 > 0) return { numbers, isNew: false };
    const users = dataOf(await api.admin.GET('/users', { params: { query: { limit: 1 } } }));
    return { numbers, isNew: users.length === 0 };
  });
  const read = useQuery({ ...today, refetchInterval: todayRefreshMs });
  return read;
}
