/** Random events for the configuration of rich-config.ts, and the model's responses to them. */
import { expect } from 'chai';
import type pg from 'pg';
import { inParallel, type Answer, type Client } from './client.js';
import { after } from './config.js';
import { Model } from './model/index.js';
import type { Random } from './random.js';
import { richConfig } from './rich-config.js';
import { until } from './stage.js';

export const userCount = 200;
const userIds = Array.from({ length: userCount }, (_, index) => `u${index}`);
/** A quarter of the users each name no zone, one ahead of UTC, one behind it, and UTC. */
const zones = [undefined, 'Asia/Tokyo', 'America/Los_Angeles', 'UTC'] as const;
const zoneOf = (user: string): string | undefined => zones[Number(user.slice(1)) % zones.length];
export const zoneName = (user: string): string => zoneOf(user) ?? 'UTC';

export interface Drawn {
  readonly metric: string;
  readonly user: string;
  readonly value: number;
  readonly attributes: Readonly<Record<string, string>> | undefined;
  readonly device: string | undefined;
  readonly key: string | undefined;
}

/** One event. A few users get much of the load, so that the same user and metric are often sent by many clients at once. */
export function draw(random: Random, index: number, keyChance: number): Drawn {
  const user = random.chance(0.2) ? random.below(4) : random.below(userCount);
  const metric = random.pick(['cards', 'cards', 'minutes', 'mistakes']);
  // A correction now and then: totals fall, places are lost, and no multiple may pay twice.
  const value = metric === 'minutes' ? (1 + random.below(400)) / 10 : (1 + random.below(9)) * (random.chance(0.05) ? -1 : 1);
  return {
    metric,
    value,
    user: `u${user}`,
    attributes: random.chance(0.1) ? { city: random.pick(['Lisbon', 'Porto']), plan: random.pick(['pro', 'free']) } : undefined,
    device: random.chance(0.3) ? random.pick(['phone', 'desk']) : undefined,
    key: random.chance(keyChance) ? `key ${index}` : undefined,
  };
}

function bodyOf({ user, value, attributes, device }: Drawn): object {
  const tz = zoneOf(user);
  return {
    user: { id: user, ...(tz !== undefined && { tz }), ...(attributes && { attributes }) },
    value,
    ...(device !== undefined && { attributes: { device } }),
  };
}

/** Sends an event; `body` replaces its own. */
export function sendDrawn(
  client: Client,
  address: string,
  drawn: Drawn,
  body: object = bodyOf(drawn),
  timeoutMs?: number,
): Promise<Answer> {
  const headers = drawn.key === undefined ? {} : { 'idempotency-key': drawn.key };
  return client.send(address, 'POST', `/v1/metrics/${drawn.metric}/event`, { body, headers, ...(timeoutMs && { timeoutMs }) });
}

const quarterMs = 15 * 60_000;

/** The model under rich-config.ts, for events of the present. Local days begin at quarters of an hour only, so its clock moves in those. */
export class TrafficModel extends Model {
  private quarter: number;

  constructor() {
    const quarter = Math.floor(Date.now() / quarterMs);
    super(after(JSON.stringify(richConfig)), quarter * quarterMs);
    this.quarter = quarter;
  }

  /** Plays the next event of the ledger. */
  track({ metric, user, value, attributes, device }: Drawn, at: Date): Said {
    const quarter = Math.floor(at.getTime() / quarterMs);
    if (quarter > this.quarter) {
      this.quarter = quarter;
      this.setNow(quarter * quarterMs);
    }
    const tz = zoneOf(user);
    const request = {
      metricKey: metric,
      value,
      user: { id: user, ...(tz !== undefined && { tz }), ...(attributes && { attributes }) },
      ...(device !== undefined && { attributes: { device } }),
    };
    return said(this.event(request));
  }
}

interface Placed {
  readonly rank: number | null;
  readonly previousRank: number | null;
  readonly threshold: number;
}
interface Earned {
  readonly total: number;
  readonly added: number;
  readonly awarded: readonly number[];
  readonly level?: string | null;
}
/** The parts of a response to an event that the model must explain. */
export interface Said {
  readonly total: number;
  readonly points: Readonly<Record<string, Earned>>;
  readonly leaderboards: Readonly<Record<string, Placed>>;
}

/** The compared parts of a response, of the service or of the model. */
export function said({ body }: { readonly body?: unknown }): Said {
  type Points = Record<string, { total: number; added: number; awards: { awarded: number }[]; level?: { key: string } | null }>;
  const { total, points, leaderboards } = body as { total: number; points: Points; leaderboards: Said['leaderboards'] };
  return {
    total,
    points: Object.fromEntries(
      Object.entries(points).map(([key, { total: all, added, awards, level }]) => [
        key,
        { total: all, added, awarded: awards.map(({ awarded }) => awarded), ...(level !== undefined && { level: level?.key ?? null }) },
      ]),
    ),
    leaderboards: Object.fromEntries(
      Object.entries(leaderboards).map(([key, { rank, previousRank, threshold }]) => [key, { rank, previousRank, threshold }]),
    ),
  };
}

/** An event as Postgres has it. */
export interface EventRow {
  readonly id: string;
  readonly key: string | null;
  readonly day: string;
  readonly at: Date;
  /** Its place in the ledger: numbers that grow, with gaps. */
  readonly ordinal: number;
}

/**
 * Waits until the leaderboards have been filled after their activation: what fills them later, while events come, is no event and not in the
 * model. Then it adds a column to this test's database that numbers the events in the order in which they were counted: rows of a batch are
 * inserted in the order of the ledger, and batches one after the other. No other column tells, since several events share a millisecond.
 */
export async function prepare(pool: pg.Pool): Promise<void> {
  const boards = richConfig.leaderboards.length;
  await until(
    'the leaderboards to be filled',
    async () => (await pool.query('select 1 from activations where completed is not null')).rowCount === boards,
  );
  await pool.query('alter table events add column ordinal bigserial');
}

/** All events behind a place in the ledger, in its order (after `prepare`). */
export async function readEvents(pool: pg.Pool, after = 0): Promise<EventRow[]> {
  const { rows } = await pool.query<EventRow>(
    `select id, idempotency_key as key, to_char(day, 'YYYY-MM-DD') as day, at, ordinal::float8 as ordinal
       from events where ordinal > $1 order by events.ordinal`,
    [after],
  );
  return rows;
}

interface UserPoints {
  readonly total: number;
  readonly level: { readonly key: string } | null;
}

const totalsOf = (body: unknown): Record<string, number> =>
  Object.fromEntries((body as { key: string; current: number }[]).map(({ key, current }) => [key, current]));
const levelOf = (body: unknown): readonly unknown[] => [(body as UserPoints).total, (body as UserPoints).level?.key ?? null];
const ranksOf = (body: unknown): readonly object[] =>
  (body as { rankings: { userId: string; rank: number; value: number }[] }).rankings.map(({ userId, rank, value }) => ({
    userId,
    rank,
    value,
  }));

/** Compares every total, points total and level of the service with the model's. */
export async function expectTotals(model: TrafficModel, client: Client, address: string): Promise<void> {
  const users = userIds.filter((user) => model.user(user).status === 200);
  expect(users).not.to.deep.equal([]);
  await inParallel(users.length, async (index) => {
    const user = users[index]!;
    const { body } = await client.send(address, 'GET', `/v1/users/${user}/metrics`);
    expect(totalsOf(body), user).to.deep.equal(totalsOf(model.metrics(user).body));
    for (const { key } of richConfig.points) {
      const found = levelOf((await client.send(address, 'GET', `/v1/users/${user}/points/${key}`)).body);
      expect(found, `${user} in ${key}`).to.deep.equal(levelOf(model.points(user, key, 1).body));
    }
  });
}

/** Compares every rank of every leaderboard, ties included. */
export async function expectRanks(model: TrafficModel, client: Client, address: string): Promise<void> {
  for (const { key } of richConfig.leaderboards) {
    const { body } = await client.send(address, 'GET', `/v1/leaderboards/${key}?limit=1000`);
    expect(ranksOf(body), key).to.deep.equal(ranksOf(model.leaderboard(key, { limit: 1000 }).body));
  }
}
