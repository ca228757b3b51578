/** The moments at which messages become due while the test clock jumps and no caller acts. */
import type pg from 'pg';
import type { ActiveConfig } from '../../plan/active-config.js';
import { numberArray } from '../../postgres/arrays.js';
import { dateToDay } from '../../shared/calendar.js';
import { nextOccurrence, recapPeriod, type ScheduleKind } from '../rules/times.js';

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
  private readonly kinds: readonly ScheduleKind[];
  private readonly lastDays: LastDays;
  /** By kind and zone: the next occurrence that was found; Infinity for none. */
  private readonly found = new Map<string, number>();

  /** Events after this call are not taken into account. `kinds` are those that are published. */
  static async read(pool: pg.Pool, config: ActiveConfig, kinds: readonly ScheduleKind[]): Promise<DueMoments> {
    return new DueMoments(pool, config, kinds, await readLastDays(pool, config));
  }

  private constructor(pool: pg.Pool, config: ActiveConfig, kinds: readonly ScheduleKind[], lastDays: LastDays) {
    this.pool = pool;
    this.config = config;
    this.kinds = kinds;
    this.lastDays = lastDays;
  }

  /** The next moment, in milliseconds since 1970, after another, up to which Postgres has everything; Infinity for none. */
  async after(moment: number): Promise<number> {
    const waiting = await this.waiting(moment);
    const isOpen: Readonly<Record<ScheduleKind, boolean>> = {
      'emails.recap_due': true,
      'emails.reactivation_due': true,
      'emails.streak_reminder_due': waiting.hasStreaks,
      'emails.achievement_due': waiting.hasAchievements,
    };
    const kinds = this.kinds.filter((kind) => isOpen[kind]);
    const zones = [...this.lastDays.keys()];
    const next = kinds.flatMap((kind) => zones.map((zone) => this.next(kind, zone, moment)));
    return next.reduce((first, at) => Math.min(first, at), waiting.dueAt ?? Infinity);
  }

  /** What waits in Postgres: the next message that has a time, and whether there are streaks and achievements that something is due about. */
  private async waiting(moment: number): Promise<{ dueAt: number | null; hasStreaks: boolean; hasAchievements: boolean }> {
    const { tenant, document } = this.config;
    const { rows } = await this.pool.query<{ dueAt: number | null; hasStreaks: boolean; hasAchievements: boolean }>(
      `select (select min(due_at)::float8 from scheduled_messages where tenant = $1 and due_at > $2) as "dueAt",
         exists (select 1 from user_streaks where tenant = $1 and ${document.streaks.frequency} > 0) as "hasStreaks",
         exists (select 1 from pending_achievement_emails where tenant = $1) as "hasAchievements"`,
      [tenant, moment],
    );
    return rows[0] ?? { dueAt: null, hasStreaks: false, hasAchievements: false };
  }

  private next(kind: ScheduleKind, zone: string, after: number): number {
    const key = `${kind} ${zone}`;
    const known = this.found.get(key);
    if (known !== undefined && known > after) return known;
    const { document } = this.config;
    const place = { zone: zone || document.settings.defaultTimeZone, after };
    const at = nextOccurrence(kind, document, place, (day) => this.mayConcern(kind, zone, day)) ?? Infinity;
    this.found.set(key, at);
    return at;
  }

  /** Whether an occurrence on a local day may concern a user of a zone. */
  private mayConcern(kind: ScheduleKind, zone: string, day: number): boolean {
    const { document } = this.config;
    const lastDays = this.lastDays.get(zone) ?? new Set();
    switch (kind) {
      case 'emails.recap_due': {
        const first = dateToDay(recapPeriod(document, day).first);
        return [...lastDays].some((last) => last >= first);
      }
      case 'emails.reactivation_due':
        return document.settings.reactivationDays.some((idle) => lastDays.has(day - idle));
      case 'emails.streak_reminder_due':
      case 'emails.achievement_due':
        return true;
    }
  }
}
