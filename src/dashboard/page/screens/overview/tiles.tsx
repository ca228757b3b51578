import { useScope } from '../../scope/scope.js';
import { formatNumber, formatShare } from '../../ui/format.js';
import { Stat } from '../../ui/page.js';
import type { AnalyticsStreaks, Today } from './analytics.js';

function dayBefore({ events, eventsBefore }: Today): string {
  const share = eventsBefore > 0 ? ` (${events > eventsBefore ? '+' : ''}${formatShare(events / eventsBefore - 1)})` : '';
  return `${formatNumber(eventsBefore)} the day before${share}`;
}

/** The numbers of today, in the local dates of users. */
export function Tiles({ today, streaks }: { readonly today: Today; readonly streaks: AnalyticsStreaks | undefined }) {
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
