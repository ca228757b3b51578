/** An event as one transaction of plain SQL: what a user of Postgres would otherwise write, by the rules of benchmarks/load/wide.yaml. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { applyEvent, levelOf, newUser, weekOf, type Outcome, type UserState } from './plain-rules.js';

export const plainSchema = (): string => readFileSync(fileURLToPath(new URL('plain-schema.sql', import.meta.url)), 'utf8');

/** An event, and what its body says of the user. */
export interface PlainEvent {
  readonly metric: string;
  readonly idempotencyKey: string | null;
  readonly value: number;
  readonly user: {
    readonly id: string;
    readonly name?: string | undefined;
    readonly tz?: string | undefined;
    readonly attributes?: { readonly plan?: string | undefined; readonly city?: string | undefined } | undefined;
  };
}

/** As many participants as Laurel's leaderboards show: beyond them, nothing is counted. */
const participants = 1_000;
/** The first event of a user may be written by two transactions at once, of which one has to begin again. */
const attempts = 3;

/** Takes the idempotency key, and locks the user, in this order. No row for a key that was used before. */
const begin = {
  name: 'begin-event',
  text: `
    with event as (
      insert into events (user_id, metric, idempotency_key, value, at) values ($1, $2, $3, $4, $6::timestamptz)
        on conflict (user_id, metric, idempotency_key) do nothing returning id
    ), known as (
      select * from users where id = $1 and exists (select from event) for update
    )
    select event.id as "eventId", ($6::timestamptz at time zone coalesce($5::text, known.tz, 'UTC'))::date - date '1970-01-01' as today,
        known.id is not null as "isKnown", known.revision, known.name, known.tz, known.plan, known.city, known.total, known.points,
        known.streak, known.streak_day as "streakDay", known.day, known.day_total as "dayTotal", known.freezes, known.earned,
        known.created_day as "createdDay", known.completed
      from event left join known on true`,
};

/**
 * Writes all that the event has changed, and counts the ranks. Those before the user are the others with as much or more: of equal values, the
 * one that was reached first ranks higher. No row is saved for a user whom another transaction has created meanwhile.
 */
const finish = {
  name: 'finish-event',
  text: `
    with saved as (
      insert into users (id, revision, name, tz, plan, city, total, points, level, streak, streak_day, day, day_total, freezes, earned,
          created_day, completed)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        on conflict (id) do update set revision = excluded.revision, name = excluded.name, tz = excluded.tz, plan = excluded.plan,
          city = excluded.city, total = excluded.total, points = excluded.points, level = excluded.level, streak = excluded.streak,
          streak_day = excluded.streak_day, day = excluded.day, day_total = excluded.day_total, freezes = excluded.freezes,
          earned = excluded.earned, completed = excluded.completed
        where users.revision = excluded.revision - 1
        returning 1
    ), awarded as (
      insert into awards (event_id, user_id, trigger, points, total, at)
        select $18::bigint, $1::text, award.trigger, award.points, award.total, $19::timestamptz
          from unnest($20::text[], $21::integer[], $22::integer[]) as award (trigger, points, total)
    ), achieved as (
      insert into completed_achievements (user_id, key, at) select $1::text, key, $19::timestamptz from unnest($23::text[]) as key
        on conflict do nothing
    ), week as (
      insert into week_points (week, user_id, points, reached)
        select $24::integer, $1::text, $25::integer, $19::timestamptz where $25::integer > 0
        on conflict (week, user_id) do update set points = week_points.points + excluded.points, reached = excluded.reached
        returning points
    ), city as (
      insert into city_totals (user_id, city, total, reached)
        select $1::text, $6::text, $7::double precision, $19::timestamptz where $6::text is not null
        on conflict (user_id) do update set city = excluded.city, total = excluded.total, reached = excluded.reached
        returning total
    )
    select (select count(*) from saved)::integer as saved,
      (select 1 + (
        select count(*) from (
          select from week_points other where other.week = $24 and other.points >= week.points and other.user_id <> $1 limit ${participants}
        ) ahead
      ) from week)::integer as "weekRank",
      (select 1 + (
        select count(*) from (
          select from city_totals other where other.city = $6 and other.total >= city.total and other.user_id <> $1 limit ${participants}
        ) ahead
      ) from city)::integer as "cityRank"`,
};

/** The state of a replay's user. */
const replay = {
  name: 'replay-event',
  text: `
    select events.id as "eventId", users.total, users.streak from events join users on users.id = events.user_id
      where user_id = $1 and metric = $2 and idempotency_key = $3`,
};

interface Profile {
  readonly name: string | null;
  readonly tz: string | null;
  readonly plan: string | null;
  readonly city: string | null;
}

interface Begun extends UserState, Profile {
  readonly eventId: string;
  readonly today: number;
  readonly isKnown: boolean;
  readonly revision: number;
}

interface Ranks {
  readonly weekRank: number | null;
  readonly cityRank: number | null;
}

/** What is shown of a place: none beyond the participants. */
const shown = (rank: number | null): number | null => (rank !== null && rank <= participants ? rank : null);

export class PlainPostgres {
  private readonly pool: pg.Pool;
  private readonly now: () => Date;

  constructor(pool: pg.Pool, now = () => new Date()) {
    this.pool = pool;
    this.now = now;
  }

  /** Counts an event, and returns the status and the body of the response. */
  async track(event: PlainEvent): Promise<{ status: 201 | 202; body: object }> {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const client = await this.pool.connect();
      let broken: Error | undefined;
      try {
        const response = await this.attempt(client, event);
        if (response) return response;
      } catch (error) {
        broken = error instanceof Error ? error : new Error(String(error));
        throw error;
      } finally {
        // A connection with an open transaction is closed.
        client.release(broken);
      }
    }
    throw new Error(`User ${event.user.id} was changed by others ${attempts} times.`);
  }

  private async attempt(client: pg.PoolClient, event: PlainEvent): Promise<{ status: 201 | 202; body: object } | undefined> {
    const { user, metric, idempotencyKey, value } = event;
    const at = this.now();
    await client.query('begin');
    const { rows } = await client.query<Begun>({ ...begin, values: [user.id, metric, idempotencyKey, value, user.tz ?? null, at] });
    const [begun] = rows;
    if (!begun) return this.replay(client, event);
    const { today, isKnown, revision, eventId } = begun;
    const profile: Profile = {
      name: user.name ?? begun.name,
      tz: user.tz ?? begun.tz,
      plan: user.attributes?.plan ?? begun.plan,
      city: user.attributes?.city ?? begun.city,
    };
    const before = isKnown ? begun : newUser(today);
    const outcome = applyEvent(before, { value, plan: profile.plan, today });
    const { after, awards, completed } = outcome;
    const values = [
      ...[user.id, isKnown ? revision + 1 : 1, profile.name, profile.tz, profile.plan, profile.city, after.total, after.points],
      ...[levelOf(after.points), after.streak, after.streakDay, after.day, after.dayTotal, after.freezes, after.earned, after.createdDay],
      ...[after.completed, eventId, at, awards.map(({ trigger }) => trigger), awards.map(({ points }) => points)],
      ...[awards.map(({ total }) => total), completed, weekOf(today), after.points - before.points],
    ];
    const finished = await client.query<Ranks & { readonly saved: number }>({ ...finish, values });
    const [ranks] = finished.rows;
    if (!ranks || ranks.saved === 0) {
      await client.query('rollback');
      return undefined;
    }
    await client.query('commit');
    return { status: 201, body: response(event, { eventId, at, before, outcome, ranks }) };
  }

  private async replay(client: pg.PoolClient, { user, metric, idempotencyKey }: PlainEvent): Promise<{ status: 202; body: object }> {
    await client.query('rollback');
    const { rows } = await client.query<{ eventId: string; total: number; streak: number }>({
      ...replay,
      values: [user.id, metric, idempotencyKey],
    });
    const [known] = rows;
    return {
      status: 202,
      body: {
        ...{ eventId: known?.eventId, metricId: metric, total: known?.total, achievements: [], currentStreak: { length: known?.streak } },
        ...{ points: {}, leaderboards: {}, idempotencyKey, idempotentReplayed: true },
      },
    };
  }
}

interface Counted {
  readonly eventId: string;
  readonly at: Date;
  readonly before: UserState;
  readonly outcome: Outcome;
  readonly ranks: Ranks;
}

/** The body of a response: what the event has changed. */
function response(
  { metric, idempotencyKey }: PlainEvent,
  { eventId, at, before, outcome: { after, awards, completed }, ranks }: Counted,
): object {
  const date = at.toISOString();
  const level = levelOf(after.points);
  const xp = {
    ...{ key: 'xp', name: 'Experience', total: after.points, added: after.points - before.points },
    ...(level !== levelOf(before.points) && { level: { key: level } }),
    awards: awards.map(({ trigger, points, total }) => ({ trigger: { key: trigger }, awarded: points, total, date })),
  };
  const places = [
    ['week', shown(ranks.weekRank)],
    ['cities', shown(ranks.cityRank)],
  ] as const;
  return {
    ...{ eventId, metricId: metric, total: after.total, achievements: completed.map((key) => ({ key, achievedAt: date })) },
    currentStreak: {
      ...{ length: after.streak, frequency: 'daily', freezes: after.freezes },
      extended: after.streakDay === after.day && after.streak > 0,
    },
    points: awards.length > 0 ? { xp } : {},
    leaderboards: Object.fromEntries(places.flatMap(([key, rank]) => (rank === null ? [] : [[key, { key, rank }]]))),
    ...(idempotencyKey !== null && { idempotencyKey }),
    idempotentReplayed: false,
  };
}
