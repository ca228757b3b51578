import { bodyOf } from './answers.js';
import type { World } from './world.js';

/** The parts of payloads that tests read; each kind has some. The contract tests hold the whole shapes. */
interface Payload {
  readonly type: string;
  readonly timestamp?: string;
  readonly user?: { readonly id: string };
  readonly previousLevel?: { readonly key: string } | null;
  readonly newLevel?: { readonly key: string } | null;
  readonly points?: { readonly key: string; readonly total: number; readonly awards?: readonly unknown[] };
  readonly achievement?: { readonly key: string };
  readonly streak?: { readonly length: number };
  readonly recap?: { readonly periodStart: string; readonly periodEnd: string };
  readonly reactivation?: { readonly messageNumber: number; readonly daysSinceLastActive: number };
  readonly boost?: { readonly name: string; readonly status: string };
  readonly leaderboard?: {
    readonly key: string;
    readonly status: string;
    readonly start: string;
    readonly end: string | null;
    readonly breakdownAttributeValue?: string;
    readonly rankings?: readonly { readonly userId: string }[];
    readonly rank?: number | null;
    readonly value?: number | null;
    readonly previousRank?: number | null;
    readonly previousValue?: number | null;
  };
}

/** A message of the outbox. */
export interface Message {
  readonly kind: string;
  readonly subject: string;
  readonly user: string | null;
  readonly at: Date;
  readonly payload: Payload;
}

/** An endpoint of a configuration file, subscribed to some kinds. It is a closed local port, so that no test resolves an outside name. */
export const subscription = (...events: string[]): object => ({ key: 'all', name: 'All', url: 'http://127.0.0.1:1/', events });

/** All messages of the world's tenant, the oldest first, once Postgres has everything that the ledger holds now. */
export async function messagesOf(world: World): Promise<Message[]> {
  await world.drain();
  const { rows } = await world.pool.query<Message>(
    'select kind, subject, user_id as "user", at, payload from outbox where tenant = $1 order by id',
    [world.tenant],
  );
  return rows;
}

/** The time of the test clock, in milliseconds since 1970. */
async function clockOf(world: World): Promise<number> {
  return Date.parse(bodyOf<{ now: string }>(await world.get('/admin/v1/clock'), 200).now);
}

/** Moves the test clock forward, which runs everything due by then. */
export async function pass(world: World, ms: number): Promise<void> {
  await world.setClock(new Date((await clockOf(world)) + ms).toISOString());
}
