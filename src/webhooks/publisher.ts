import type pg from 'pg';
import type { Channel } from '../config/schema/message-types.js';
import type { WebhookKind } from '../config/schema/webhook-kinds.js';
import type { Engine } from '../engine/engine.js';
import type { LedgerEntry, ProfileFact } from '../ledger/entry.js';
import type { Publish, Publisher } from '../ledger/tenant-writer.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userResponse } from '../responses/users.js';
import { type Draft, draftsOf, isOfUser, eventOf } from './drafts.js';
import { boardChangesOf, limitedBoards, recordBoardChanges, recordFinishedRuns } from './leaderboard-state.js';
import { publishEvents, subscribedKinds } from '../deliveries/outbox.js';
import { recordPointsChanges } from './points-state.js';
import type { CompletedAchievement } from '../messages/rules/notification.js';
import { readProfiles, receivesEmail } from '../messages/rules/profiles.js';
import { recordRankChanges } from './rank-state.js';
import { type Completion, computeTimesAgain, isDueAtOnce, scheduleAchievements } from '../messages/schedule/waiting.js';
import { isSent } from '../messages/schedule/queue.js';

/** A draft, and the profile of its user from the entries of the batch up to it; undefined when they have none. */
type DraftWithProfile = readonly [draft: Draft, profile: ProfileFact | undefined];

/**
 * Adds the events of entries to the outbox. Called before the entries' rows are written, in the same transaction: events show a user as of the
 * entry. (A user without a profile is one whose creation Postgres refused: there is no event.)
 */
async function publishEntries(
  client: pg.ClientBase,
  config: ActiveConfig,
  { kinds, open }: Subscriptions,
  entries: readonly LedgerEntry[],
): Promise<number> {
  const drafted = isSent(config, 'achievement_completed', open) ? new Set([...kinds, 'emails.achievement_due' as const]) : kinds;
  const drafts: DraftWithProfile[] = [];
  const known = new Map<string, ProfileFact>();
  for (const entry of entries) {
    if (!isOfUser(entry)) continue;
    if (entry.profile) known.set(entry.user, entry.profile);
    for (const draft of draftsOf(config, drafted, entry)) drafts.push([draft, known.get(entry.user)]);
  }
  if (drafts.length === 0) return 0;
  const missing = drafts.filter(([, profile]) => !profile).map(([draft]) => draft.user);
  const stored = await readProfiles(client, config.tenant, missing);
  const completions: Completion[] = [];
  const events = drafts.flatMap(([draft, profile = stored.get(draft.user)]) => {
    if (!profile) return [];
    if (draft.kind === 'emails.achievement_due') {
      const completion = { user: draft.user, at: draft.at, achievement: draft.body['achievement'] as CompletedAchievement, profile };
      completions.push(completion);
      if (!isDueAtOnce(config, completion) || !receivesEmail(profile, 'achievement_completed')) return [];
    }
    return [eventOf(draft, userResponse(config, draft.user, profile))];
  });
  await scheduleAchievements(client, config, completions, { open, isSubscribed: kinds.has('emails.achievement_due') });
  return publishEvents(client, config, events);
}

/** The users whose profiles entries change. */
const changedUsers = (entries: readonly LedgerEntry[]): string[] =>
  entries.flatMap((entry) => (isOfUser(entry) && entry.profile ? [entry.user] : []));

/** What is published: to webhook endpoints, and to users. */
interface Subscriptions {
  readonly kinds: ReadonlySet<WebhookKind>;
  /** The channels of notifications to users that this installation has. */
  readonly open: ReadonlySet<Channel>;
}

/**
 * Publishes a tenant's entries under a configuration; undefined without subscriptions and notifications. Some events are added to the outbox at once; for the others,
 * state is recorded from which they are made when they are due (due.ts).
 */
function publishFor(config: ActiveConfig, open: ReadonlySet<Channel>): Publish | undefined {
  const kinds = subscribedKinds(config);
  if (kinds.size === 0 && !isSent(config, 'achievement_completed', open)) return undefined;
  const { tenant } = config;
  const hasBoardKinds = [...kinds].some((kind) => kind.startsWith('leaderboard.'));
  return async (client, entries) => {
    const sent = await publishEntries(client, config, { kinds, open }, entries);
    // A user who has moved is served by the clock of the new zone.
    if (kinds.has('emails.achievement_due')) await computeTimesAgain(client, tenant, changedUsers(entries));
    if (kinds.has('points.changed')) await recordPointsChanges(client, tenant, entries);
    if (!hasBoardKinds) return sent;
    const changes = boardChangesOf(entries);
    const limited = await limitedBoards(client, tenant, changes);
    const changed = [...new Map([...changes.changed, ...limited]).values()];
    if (kinds.has('leaderboard.changed')) await recordBoardChanges(client, tenant, changed);
    if (kinds.has('leaderboard.rank_changed')) await recordRankChanges(client, config, changed, changes.filled);
    await recordFinishedRuns(client, tenant, changes.ended, kinds.has('leaderboard.finished'));
    return sent;
  };
}

/** Publishes entries under the newest configuration. `wake` is called when there is something to deliver. */
export function createPublisher(engine: Pick<Engine, 'config' | 'refreshConfig'>, open: ReadonlySet<Channel>, wake: () => void): Publisher {
  return {
    publishFor: async (tenant, version) => {
      const config = await engine.config(tenant);
      // Another process may have loaded a newer version, with other subscriptions and with objects that the entries refer to.
      return publishFor(config.version < version ? await engine.refreshConfig(tenant) : config, open);
    },
    wake,
  };
}
