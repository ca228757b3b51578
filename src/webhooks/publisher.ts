import type { Engine } from '../engine/engine.js';
import type { Publish, Publisher } from '../ledger/tenant-writer.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { boardChangesOf } from './leaderboard-state.js';
import { publishEntries } from './entries.js';
import { subscribedKinds } from './outbox.js';
import { limitedBoards, noteBoards, noteFinals } from './leaderboard-state.js';
import { notePoints } from './points-state.js';
import { noteRanks } from './rank-state.js';

/**
 * What tells of a tenant's entries under a configuration; undefined when nobody subscribes to anything: then nothing is worked out. What is told at
 * once is added to the outbox; of the rest it is noted that there is something to tell (webhooks/due.ts).
 */
function tellerOf(config: ActiveConfig): Publish | undefined {
  const kinds = subscribedKinds(config);
  if (kinds.size === 0) return undefined;
  const { tenant } = config;
  const concernsBoards = [...kinds].some((kind) => kind.startsWith('leaderboard.'));
  return async (client, entries) => {
    const sent = await publishEntries(client, config, kinds, entries);
    if (kinds.has('points.changed')) await notePoints(client, tenant, entries);
    if (!concernsBoards) return sent;
    const changes = boardChangesOf(entries);
    const limited = await limitedBoards(client, tenant, changes);
    const changed = [...new Map([...changes.changed, ...limited]).values()];
    if (kinds.has('leaderboard.changed')) await noteBoards(client, tenant, changed);
    if (kinds.has('leaderboard.rank_changed')) await noteRanks(client, config, changed, changes.filled);
    await noteFinals(client, tenant, changes.ended, kinds.has('leaderboard.finished'));
    return sent;
  };
}

/** Tells of entries under the newest configuration. `wake` hears that there are messages to deliver. */
export function createPublisher(engine: Pick<Engine, 'config' | 'refreshConfig'>, wake: () => void): Publisher {
  return {
    publishFor: async (tenant, version) => {
      const config = await engine.config(tenant);
      // Another process may have been quicker to know of a receiver, and of what the entries name.
      return tellerOf(config.version < version ? await engine.refreshConfig(tenant) : config);
    },
    wake,
  };
}
