import { setTimeout as delay } from 'node:timers/promises';
import { defaultTenant } from '../../src/access/tenants.js';
import { applyConfig } from '../../src/app/apply.js';
import type { Context } from '../../src/app/context.js';
import { trackEvent } from '../../src/engine/events.js';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import type { LoadRequest } from './load.js';

const tenant = defaultTenant;
/** Events that are under way at once, and entries of the ledger above which the loading waits for the write-behind. */
const inFlight = 256;
const maxLedgerEntries = 100_000;
const pollMs = 50;
const progressUsers = 100_000;
/** Users who send events: their last event is too recent for a reactivation. */
const activeUsers = 1_000;
export const reactivationDays = 10;

/** Emails of one type, to users of one zone (UTC), due on each of ten days after their only event. */
const dueConfig = {
  metrics: [{ key: 'cards', name: 'Cards', unitType: 'number', units: 'cards' }],
  points: [
    {
      ...{
        key: 'xp',
        name: 'Experience',
        levels: [1, 100, 1_000].map((points) => ({ key: `l${points}`, name: `Level ${points}`, points })),
      },
      triggers: [{ key: 'cards', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 2, status: 'active' }],
    },
  ],
  achievements: [{ key: 'ten', name: 'Ten cards', trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' }],
  settings: { reactivationDays: Array.from({ length: reactivationDays }, (_, i) => i + 1) },
  messages: { reactivation: ['email'], recap: [], achievementCompleted: [], streakReminder: [] },
};

export interface FillDueOptions {
  readonly users: number;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Waits until the write-behind has committed all but some entries. */
export async function untilWritten(context: Context, entries: number, signal: AbortSignal): Promise<void> {
  const ledger = partitionPrefix(context.settings.redisPrefix, tenant) + keyNames.ledger;
  while ((await context.redis.xlen(ledger)) > entries) await delay(pollMs, undefined, { signal });
}

/** Makes users who have an address and one event each, and those who send events. */
export async function fillDueUsers(context: Context, { users, print, signal }: FillDueOptions): Promise<void> {
  await applyConfig(context, { name: 'messages', text: JSON.stringify(dueConfig) }, { prune: false, dryRun: false });
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < users + activeUsers) {
      signal.throwIfAborted();
      const index = next;
      next += 1;
      const user = index < users ? { id: `user-${index}`, email: `user-${index}@example.com` } : { id: `active-${index - users}` };
      const event = { metricKey: 'cards', value: 1 + (index % 9), attributes: undefined, idempotencyKey: undefined, user };
      await trackEvent(context.engine, tenant, event);
      if (next % progressUsers === 0) print(`  ${next.toLocaleString('en')} users`);
      if (next % inFlight === 0) await untilWritten(context, maxLedgerEntries, signal);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  await untilWritten(context, 1, signal);
}

/** Events of users who receive no messages. */
export function activeEvents(name: string): () => LoadRequest {
  let sent = 0;
  return () => {
    sent += 1;
    return {
      method: 'POST',
      path: '/v1/metrics/cards/event',
      body: JSON.stringify({ user: { id: `active-${(sent * 7) % activeUsers}` }, value: 1 }),
      idempotencyKey: `${name}-${sent}`,
    };
  };
}
