import { useRef } from 'preact/hooks';
import { useRead, type Read } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { Page } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { useAddress } from '../../use-address.js';
import { dateAfter, rangeOf, todayOf, type Today } from './analytics.js';
import { Charts } from './charts.js';
import { FirstEvent } from './first-event.js';
import { Health } from './health.js';
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
      <Loaded of={today}>{({ numbers, isNew }) => (isNew ? <FirstEvent /> : <Activity today={numbers} days={days} />)}</Loaded>
      <Health />
    </Page>
  );
}

function Activity({ today, days }: { readonly today: Today; readonly days: number }) {
  const { api } = useScope();
  const streaks = useRead(() => api.admin.GET('/analytics/streaks'), [], streaksRefreshMs);
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
  return useRead(
    async () => {
      // The clock of the service decides which day is the newest. After the first read, two days are enough.
      const query = lastDay.current === undefined ? {} : { from: dateAfter(lastDay.current, -1) };
      const { data } = await api.admin.GET('/analytics/days', { params: { query } });
      const numbers = data && todayOf(data);
      if (!numbers) return {};
      lastDay.current = numbers.date;
      if (numbers.activeUsers30 > 0) return { data: { numbers, isNew: false } };
      const { data: users } = await api.admin.GET('/users', { params: { query: { limit: 1 } } });
      return { data: { numbers, isNew: users?.length === 0 } };
    },
    [],
    todayRefreshMs,
  );
}
