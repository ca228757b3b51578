import { useQuery } from '@tanstack/preact-query';
import { useRef } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import type { Read } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { Page } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { useAddress } from '../../scope/use-address.js';
import { dateAfter, rangeOf, todayOf, type Today } from './analytics.js';
import { Charts } from './charts.js';
import { FirstEvent } from './first-event.js';
import { Health, HealthProblems } from './health.js';
import { RangePicker } from './range-picker.js';
import { Streaks } from './streaks.js';
import { Tiles } from './tiles.js';
import './overview.css';

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
