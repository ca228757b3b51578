import type { ConfigObject, PointsSystem } from '../config/schema/model.js';
import type { DaySpan } from '../history/aggregates.js';
import type { AnalyticsReader, Counted } from '../history/analytics.js';
import type { AnalyticsKind, AnalyticsRow } from '../ledger/analytics-days.js';
import { type ActiveConfig, requireSystemById } from '../plan/active-config.js';
import { rarityOf } from '../responses/achievements.js';
import type {
  AnalyticsAchievementResponse,
  AnalyticsDaysResponse,
  AnalyticsLevelsResponse,
  AnalyticsStreaksResponse,
} from '../responses/analytics.js';
import { refOf } from '../responses/refs.js';
import { dayToDate } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import { countUsersByLevel, type SummaryStores } from './points.js';

/** What analytics read (docs/rules/analytics.md). */
export interface AnalyticsStores extends SummaryStores {
  readonly analytics: AnalyticsReader;
}

/** The configuration, once Postgres has everything that has happened. */
async function configOnceStored({ engine, clock, history }: AnalyticsStores, tenant: number): Promise<ActiveConfig> {
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
  return engine.config(tenant);
}

const datesOf = ({ first, last }: DaySpan): string[] => Array.from({ length: last - first + 1 }, (_, i) => dayToDate(first + i));

/** The counts and amounts of a span, one number for each day. */
class Series {
  private readonly span: DaySpan;
  private readonly rows = new Map<string, AnalyticsRow[]>();

  constructor(span: DaySpan, rows: readonly AnalyticsRow[]) {
    this.span = span;
    for (const row of rows) {
      const key = `${row.kind}:${row.object}`;
      const others = this.rows.get(key);
      if (others) others.push(row);
      else this.rows.set(key, [row]);
    }
  }

  has(kind: AnalyticsKind, object: number): boolean {
    return this.rows.has(`${kind}:${object}`);
  }

  of(kind: AnalyticsKind, object: number, what: 'count' | 'amount' = 'count'): number[] {
    const { first, last } = this.span;
    const list = Array.from({ length: last - first + 1 }, () => 0);
    for (const row of this.rows.get(`${kind}:${object}`) ?? []) list[row.day - first] = row[what];
    return list;
  }
}

const listed = (object: ConfigObject) => ({ ...refOf(object), archived: object.archived });

interface OwnTrigger {
  readonly system: PointsSystem;
  readonly trigger: PointsSystem['triggers'][number];
}

/** The lists of a response. An archived object is in them if it has counts in the span. */
function listsOf(
  config: ActiveConfig,
  series: Series,
): Pick<AnalyticsDaysResponse, 'metrics' | 'triggers' | 'adjustments' | 'achievements'> {
  const { metrics, pointsSystems, achievements } = config.document;
  const shown = (kind: AnalyticsKind, isArchived: boolean, no: number): boolean => !isArchived || series.has(kind, no);
  return {
    metrics: metrics
      .filter(({ archived, no }) => shown('events', archived, no))
      .map((metric) => ({ ...listed(metric), events: series.of('events', metric.no), change: series.of('events', metric.no, 'amount') })),
    triggers: triggersOf(config)
      .filter(({ system, trigger }) => shown('awards', system.archived || trigger.archived, trigger.no))
      .map(({ system, trigger }) => ({
        ...{ ...refOf(trigger), archived: system.archived || trigger.archived, type: trigger.type, system: refOf(system) },
        awards: series.of('awards', trigger.no),
        points: series.of('awards', trigger.no, 'amount'),
      })),
    adjustments: pointsSystems
      .filter(({ no }) => series.has('awards', no))
      .map((system) => ({ ...listed(system), awards: series.of('awards', system.no), points: series.of('awards', system.no, 'amount') })),
    achievements: achievements
      .filter(({ archived, no }) => shown('achievements', archived, no))
      .map((achievement) => ({ ...listed(achievement), completions: series.of('achievements', achievement.no) })),
  };
}

const triggersOf = ({ document }: ActiveConfig): OwnTrigger[] =>
  document.pointsSystems.flatMap((system) => system.triggers.map((trigger) => ({ system, trigger })));

/** What happened on each local day of a span. */
export async function readAnalyticsDays(stores: AnalyticsStores, tenant: number, span: DaySpan): Promise<AnalyticsDaysResponse> {
  const config = await configOnceStored(stores, tenant);
  const { metrics, pointsSystems, achievements } = config.document;
  const counted: Counted[] = [
    ...metrics.map(({ no }): Counted => ({ kind: 'events', object: no })),
    ...triggersOf(config).map(({ trigger }): Counted => ({ kind: 'awards', object: trigger.no })),
    ...pointsSystems.map(({ no }): Counted => ({ kind: 'awards', object: no })),
    ...achievements.map(({ no }): Counted => ({ kind: 'achievements', object: no })),
    { kind: 'created', object: 0 },
    { kind: 'active', object: 0 },
  ];
  const series = new Series(span, await stores.analytics.counts(tenant, counted, span));
  const days = datesOf(span);
  const events = days.map(() => 0);
  for (const { no } of metrics) {
    for (const [i, count] of series.of('events', no).entries()) events[i] = (events[i] ?? 0) + count;
  }
  return {
    from: dayToDate(span.first),
    until: dayToDate(span.last),
    days,
    events,
    activeUsers: series.of('active', 0),
    activeUsers30: await stores.analytics.sums(tenant, { kind: 'active30', object: 0 }, span),
    newUsers: series.of('created', 0),
    ...listsOf(config, series),
  };
}

/** The completions of an achievement on each local day of a span, and the rarity that follows. Throws a 404 for an unknown id. */
export async function readAnalyticsAchievement(
  stores: AnalyticsStores,
  tenant: number,
  id: string,
  span: DaySpan,
): Promise<AnalyticsAchievementResponse> {
  const config = await configOnceStored(stores, tenant);
  const achievement = config.achievementById.get(id);
  if (!achievement) throw new LaurelError('not_found', `There is no achievement with the id ${id}.`);
  const counted = { kind: 'achievements', object: achievement.no } as const;
  const [rows, completed, users] = await Promise.all([
    stores.analytics.counts(tenant, [counted], span),
    stores.analytics.sums(tenant, counted, span),
    stores.analytics.sums(tenant, { kind: 'created', object: 0 }, span),
  ]);
  return {
    ...{ ...listed(achievement), days: datesOf(span) },
    completions: new Series(span, rows).of('achievements', achievement.no),
    completed,
    users,
    rarity: completed.map((count, i) => rarityOf(count, users[i] ?? 0)),
  };
}

/** The shortest lengths of the ranges that streaks are counted by. */
const rangeStarts = [1, 2, 3, 4, 7, 14, 30, 60, 100, 200, 365] as const;

/** How many users have a current streak, by its length in periods of the configured frequency. */
export async function readAnalyticsStreaks(stores: AnalyticsStores, tenant: number): Promise<AnalyticsStreaksResponse> {
  const { enabled, frequency } = (await configOnceStored(stores, tenant)).document.streaks;
  const rows = enabled ? await stores.analytics.usersByStreak(tenant, frequency) : [];
  const lengths = rangeStarts.map((from, i) => {
    const next = rangeStarts[i + 1];
    const within = rows.filter(({ length }) => length >= from && (next === undefined || length < next));
    return { from, to: next === undefined ? null : next - 1, users: within.reduce((sum, { users }) => sum + users, 0) };
  });
  return {
    frequency,
    alive: rows.reduce((sum, { users }) => sum + users, 0),
    longest: rows.reduce((longest, { length }) => Math.max(longest, length), 0),
    lengths,
  };
}

/** How many users have each level of a points system, and how many have none. Throws a 404 for an id that is unknown or archived. */
export async function readAnalyticsLevels(stores: AnalyticsStores, tenant: number, systemId: string): Promise<AnalyticsLevelsResponse> {
  const { system, users, levels } = await countUsersByLevel(stores, tenant, (config) => requireSystemById(config, systemId));
  const [lowest] = levels;
  const above = levels.reduce((sum, level) => sum + level.users, 0);
  const none = { id: null, key: null, name: null, points: null, users: users - above };
  return {
    system: refOf(system),
    users,
    levels: [
      ...(lowest && lowest.level.points <= 0 ? [] : [none]),
      ...levels.map((item) => ({ ...refOf(item.level), points: item.level.points, users: item.users })),
    ],
  };
}
