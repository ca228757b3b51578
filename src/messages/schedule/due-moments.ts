/** The moments at which notifications and their webhooks become due while the test clock jumps and no caller acts. */
import type pg from 'pg';
import type { ActiveConfig } from '../../plan/active-config.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { dateToDay } from '../../shared/calendar.js';
import { audiences } from '../rules/notification.js';
import { nextOccurrence, recapPeriod, type Rules, rulesIn, type UserScheduleKind, type WeekChange } from '../rules/times.js';
import { readWeekChanges } from './recipients.js';

/** Zone, empty for none → the local days, since 1970-01-01, of its users' last events; of users without one, of their creation. */
type LastDays = ReadonlyMap<string, ReadonlySet<number>>;

async function readLastDays(pool: pg.Pool, { tenant, document }: ActiveConfig): Promise<LastDays> {
  const { rows } = await pool.query<{ zone: string; days: number[] }>(
    `select zone, array_agg(day) as days from (
       select distinct coalesce(tz, '') as zone, coalesce(active.day - date '1970-01-01', created_day) as day
         from users left join (
           select user_id, max(day) as day from user_days
            where tenant = $1 and object = any($2::integer[]) and events > 0 group by user_id
         ) as active on active.user_id = users.id
        where tenant = $1) as last group by zone`,
    [tenant, numberArray(document.metrics.map(({ no }) => no))],
  );
  return new Map(rows.map(({ zone, days }) => [zone, new Set(days)]));
}

/** Only occurrences that may concern a user: a jump of a year has few of them, and each costs a pass over the users of a zone. */
export class DueMoments {
  private readonly pool: pg.Pool;
  private readonly config: ActiveConfig;
  private readonly kinds: readonly UserScheduleKind[];
  private readonly lastDays: LastDays;
  private readonly weekChanges: readonly WeekChange[];
  /** By kind and zone: the next occurrence that was found; Infinity for none. */
  private readonly found = new Map<string, number>();

  /** Events after this call are not taken into account. `kinds` are those that are published. */
  static async read(pool: pg.Pool, config: ActiveConfig, kinds: readonly UserScheduleKind[]): Promise<DueMoments> {
    return new DueMoments(pool, config, kinds, {
      lastDays: await readLastDays(pool, config),
      weekChanges: await readWeekChanges(pool, config),
    });
  }

  private constructor(
    pool: pg.Pool,
    config: ActiveConfig,
    kinds: readonly UserScheduleKind[],
    { lastDays, weekChanges }: { readonly lastDays: LastDays; readonly weekChanges: readonly WeekChange[] },
  ) {
    this.pool = pool;
    this.config = config;
    this.kinds = kinds;
    this.lastDays = lastDays;
    this.weekChanges = weekChanges;
  }

  /** The next moment, in milliseconds since 1970, after another, up to which Postgres has everything; Infinity for none. */
  async after(moment: number): Promise<number> {
    const waiting = await this.waiting(moment);
    const kinds = this.kinds.filter((kind) => kind !== 'emails.streak_reminder_due' || waiting.hasStreaks);
    const zones = [...this.lastDays.keys()];
    const next = kinds.flatMap((kind) => zones.map((zone) => this.next(kind, zone, moment)));
    return next.reduce((first, at) => Math.min(first, at), waiting.dueAt ?? Infinity);
  }

  /** What waits in Postgres: when the next notification or webhook is due, and whether there are streaks. */
  private async waiting(moment: number): Promise<{ dueAt: number | null; hasStreaks: boolean }> {
    const { tenant, document } = this.config;
    const { rows } = await this.pool.query<{ dueAt: number | null; hasStreaks: boolean }>(
      `select (
           select min(due_at)::float8 from unnest($3::text[]) as wanted (name) cross join lateral (
             select due_at from scheduled_notifications as waiting
              where tenant = $1 and waiting.audience = wanted.name and due_at > $2 order by due_at limit 1) as first) as "dueAt",
         exists (select 1 from user_streaks where tenant = $1 and ${document.streaks.frequency} > 0) as "hasStreaks"`,
      [tenant, moment, textArray(audiences)],
    );
    return rows[0] ?? { dueAt: null, hasStreaks: false };
  }

  private next(kind: UserScheduleKind, zone: string, after: number): number {
    const key = `${kind} ${zone}`;
    const known = this.found.get(key);
    if (known !== undefined && known > after) return known;
    const { document } = this.config;
    const place = { zone: zone || document.settings.defaultTimeZone, after };
    const rules = rulesIn(place.zone, document, this.weekChanges);
    const at = nextOccurrence(kind, rules, place, (day) => this.mayConcern(kind, rules, zone, day)) ?? Infinity;
    this.found.set(key, at);
    return at;
  }

  /** Whether an occurrence on a local day may concern a user of a zone. */
  private mayConcern(kind: UserScheduleKind, rules: Rules, zone: string, day: number): boolean {
    const lastDays = this.lastDays.get(zone) ?? new Set();
    switch (kind) {
      case 'emails.recap_due': {
        const first = dateToDay(recapPeriod(rules, day).first);
        return [...lastDays].some((last) => last >= first);
      }
      case 'emails.reactivation_due':
        return rules.settings.reactivationDays.some((idle) => lastDays.has(day - idle));
      case 'emails.streak_reminder_due':
        return true;
    }
  }
}
