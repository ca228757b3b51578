import { applyConfig } from '../../src/app/apply.js';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultTenant } from '../../src/access/tenants.js';
import type { Context } from '../../src/app/context.js';
import { trackEvent } from '../../src/engine/events.js';
import type { LoadRequest } from '../load/load.js';
import type { Watch } from './watch.js';

/** Zones an hour apart from each other: from 12 hours west of UTC to 11 hours east. */
const zones = Array.from({ length: 24 }, (_, index): readonly [name: string, hoursEast: number] => {
  const hoursEast = index - 12;
  return [hoursEast === 0 ? 'UTC' : `Etc/GMT${hoursEast < 0 ? '+' : '-'}${Math.abs(hoursEast)}`, hoursEast];
});
/** Every so many-th user sends events while others are settled. Prime to the number of zones, so that they live in all of them. */
const activeEvery = 7;
const sampleUsers = 500;
/** Events that are under way at once, and entries of the ledger above which the loading waits for the write-behind. */
const inFlight = 256;
const maxLedgerEntries = 100_000;
const progressUsers = 100_000;

export interface User {
  readonly id: string;
  readonly zone: string;
  readonly hoursEast: number;
  /** Whether the user has a freeze. */
  readonly hasFreeze: boolean;
}

export interface Population {
  readonly size: number;
  user(index: number): User;
  /** Idle users of all zones. */
  readonly sample: readonly User[];
  /** An event of one of the others. */
  readonly nextEvent: () => LoadRequest;
}

/** Users in 24 zones in turn. The first half has a freeze each. */
export function population(size: number): Population {
  const user = (index: number): User => {
    const [zone, hoursEast] = zones[index % zones.length] ?? ['UTC', 0];
    return { id: `user-${index}`, zone, hoursEast, hasFreeze: index < size / 2 };
  };
  const step = Math.max(1, Math.floor(size / sampleUsers));
  const sample = Array.from({ length: Math.floor(size / step) }, (_, at) => at * step + (at % Math.min(step, zones.length)));
  let sent = 0;
  return {
    size,
    user,
    sample: sample.filter((index) => index % activeEvery !== 0 && index < size).map(user),
    nextEvent: () => {
      sent += 1;
      // A stride that is prime to any size here visits users far from each other.
      const index = Math.floor(((sent * 611_953) % size) / activeEvery) * activeEvery;
      return {
        method: 'POST',
        path: '/v1/metrics/steps/event',
        body: JSON.stringify({ user: { id: `user-${index}` }, value: 1 }),
        idempotencyKey: `00000000-0000-4000-8000-${String(sent).padStart(12, '0')}`,
      };
    },
  };
}

export interface FillOptions {
  readonly config: string;
  readonly watch: Watch;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Makes the users, with an event each that begins a streak: those with a freeze under a configuration that gives new users one. */
export async function fillTenant(context: Context, users: Population, options: FillOptions): Promise<void> {
  const text = readFileSync(options.config, 'utf8');
  const half = Math.ceil(users.size / 2);
  const freezes = (count: number): string => `${text}  freezes:\n    initial: ${count}\n    maximum: 1\n`;
  await applyConfig(context, { name: 'one freeze', text: freezes(1) }, { prune: false, dryRun: false });
  await sendFirst(context, users, 0, half, options);
  await applyConfig(context, { name: 'no freeze', text: freezes(0) }, { prune: false, dryRun: false });
  await sendFirst(context, users, half, users.size, options);
}

async function sendFirst(
  context: Context,
  users: Population,
  from: number,
  to: number,
  { watch, print, signal }: FillOptions,
): Promise<void> {
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) {
      signal.throwIfAborted();
      const { id, zone } = users.user(next);
      next += 1;
      const made = next;
      await trackEvent(context.engine, defaultTenant, {
        ...{ metricKey: 'steps', value: 1, attributes: undefined, idempotencyKey: undefined },
        user: { id, tz: zone },
      });
      if (made % progressUsers === 0)
        print(`  ${made.toLocaleString('en')} users, ${(await watch.ledgerEntries()).toLocaleString('en')} entries in the ledger`);
      if (made % inFlight === 0) while ((await watch.ledgerEntries()) > maxLedgerEntries) await delay(50, undefined, { signal });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}
