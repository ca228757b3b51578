import { setTimeout as delay } from 'node:timers/promises';
import type { Reply, World } from './world.js';

/** The parts of responses that tests read. contract.test.ts holds the whole shapes. */
export interface Level {
  readonly key: string;
}

interface Award {
  readonly id: string;
  readonly awarded: number;
  readonly total: number;
  readonly date: string;
  /** Absent from an adjustment. */
  readonly trigger?: { readonly id: string; readonly points: number };
  readonly boosts: readonly { readonly name: string }[];
}

interface PointsBlock {
  readonly total: number;
  readonly added: number;
  readonly awards: readonly Award[];
  readonly level?: Level | null;
}

interface BoardBlock {
  readonly rank: number | null;
  readonly previousRank: number | null;
  readonly threshold: number;
  readonly status: string;
}

export interface EventBody {
  readonly eventId: string;
  readonly metricId: string;
  readonly total: number;
  readonly achievements: readonly unknown[];
  readonly currentStreak: { readonly length: number };
  readonly points: Readonly<Record<string, PointsBlock>>;
  readonly leaderboards: Readonly<Record<string, BoardBlock>>;
  readonly idempotencyKey?: string;
  readonly idempotentReplayed?: boolean;
}

export interface UserPoints {
  readonly total: number;
  readonly level: Level | null;
  readonly awards: readonly Award[];
}

export interface Profile {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly tz: string | null;
  readonly signUpDate: string | null;
  readonly deviceTokens: readonly string[] | null;
  readonly subscribeToEmails: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly control: boolean;
  readonly created: string;
  readonly updated: string;
}

interface Ranking {
  readonly userId: string;
  readonly userName: string | null;
  readonly rank: number;
  readonly value: number;
  readonly rankInList?: number;
}

export interface Rankings {
  readonly key: string;
  readonly status: string;
  readonly rankings: readonly Ranking[];
}

export interface HistoryDay {
  readonly date: string;
  readonly timestamp: string;
  readonly previousRank: number | null;
  readonly rank: number | null;
  readonly previousValue: number | null;
  readonly value: number | null;
}

export interface UserPlace {
  readonly rank: number | null;
  readonly value: number | null;
  readonly history: readonly HistoryDay[];
}

/** The user of an event: an id, or an id with properties. */
export type EventUser = string | ({ readonly id: string } & Readonly<Record<string, unknown>>);

export interface Event {
  readonly user: EventUser;
  readonly value: number;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  /** The Idempotency-Key header. */
  readonly key?: string | undefined;
}

/** The body of a response that must have this status. The caller asserts its shape. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function bodyOf<T>(reply: Reply, status: number): T {
  if (reply.status !== status) throw new Error(`expected ${status}, got ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body as T;
}

/** Status and body, to compare at once. */
export const answer = ({ status, body }: Reply): readonly [status: number, body: unknown] => [status, body as unknown];

/** Sends one event; `status` is 201, or 202 where a replay is expected. */
export async function track(world: World, metric: string, { user, value, attributes, key }: Event, status = 201): Promise<EventBody> {
  const body = { user: typeof user === 'string' ? { id: user } : user, value, ...(attributes ? { attributes } : {}) };
  return bodyOf(await world.event(metric, body, key === undefined ? {} : { 'idempotency-key': key }), status);
}

/** Repeats a request that gets a 503, as clients do: after the seconds in Retry-After. Fails after a minute of them. */
export async function repeated(send: () => Promise<Reply>): Promise<Reply> {
  const giveUpAt = Date.now() + untilTimeoutMs;
  while (true) {
    const reply = await send();
    if (reply.status !== 503 || Date.now() > giveUpAt) return reply;
    await delay(Number(reply.headers.get('retry-after') ?? 0) * 1_000);
  }
}

/** Reads a path that must exist. */
export async function read<T>(world: World, path: string): Promise<T> {
  return bodyOf<T>(await world.get(path), 200);
}

export const userPath = (id: string, rest = ''): string => `/v1/users/${encodeURIComponent(id)}${rest}`;

export const readPoints = (world: World, id: string, system: string, query = ''): Promise<UserPoints> =>
  read(world, userPath(id, `/points/${system}${query}`));

export const readProfile = (world: World, id: string): Promise<Profile> => read(world, userPath(id));

export const readPlace = (world: World, id: string, board: string, query = ''): Promise<UserPlace> =>
  read(world, userPath(id, `/leaderboards/${board}${query}`));

/** A page of a leaderboard, as lines such as `1 ana 10`. */
export async function readBoard(world: World, board: string, query = '?limit=1000'): Promise<string[]> {
  const { rankings } = await read<Rankings>(world, `/v1/leaderboards/${board}${query}`);
  return rankings.map(({ rank, userId, value }) => `${rank} ${userId} ${value}`);
}

/** A configuration file's text. Every JSON document is a YAML document. */
export const configText = (config: object): string => JSON.stringify(config);

const pollMs = 3;
const untilTimeoutMs = 60_000;

/** Waits for an effect of the service, and fails after a minute. */
export async function until(what: string, happened: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + untilTimeoutMs;
  while (!(await happened())) {
    if (Date.now() > giveUpAt) throw new Error(`timed out after ${untilTimeoutMs} ms waiting until ${what}`);
    await delay(pollMs);
  }
}
