import type pg from 'pg';
import type { LedgerEntry, ProfileFact } from '../ledger/entry.js';
import { userFields } from '../redis/contract.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userResponse } from '../responses/users.js';
import type { UserResponse } from '../responses/users.js';
import { draftsOf, isOfUser, type Draft } from './drafts.js';
import { isAchievementHour } from './email-schedules.js';
import type { WebhookKind } from '../config/webhook-kinds.js';
import { addToOutbox, type OutboxMessage } from './outbox.js';
import { keepPending } from './pending-achievements.js';
import { isWrittenTo, readProfiles } from './profiles.js';

/** A draft, and the profile of its user as the entries of the batch up to it tell; undefined when they don't. */
type Told = readonly [draft: Draft, profile: ProfileFact | undefined];

/** A draft with its user, as a message. */
export function messageOf({ kind, user: id, at, body }: Draft, user: UserResponse): OutboxMessage {
  return { kind, subject: `user:${id}`, user: id, at: new Date(at), payload: { type: kind, user, ...body } };
}

/**
 * Adds the messages that entries make at once to the outbox. Call it before what the entries lead to is written, in the same transaction: a user
 * is shown as the user was at that entry. (A user whom nobody knows is one whose creation Postgres has refused: there is nobody to tell of.)
 */
export async function publishEntries(
  client: pg.ClientBase,
  config: ActiveConfig,
  kinds: ReadonlySet<WebhookKind>,
  entries: readonly LedgerEntry[],
): Promise<number> {
  const told: Told[] = [];
  const known = new Map<string, ProfileFact>();
  for (const entry of entries) {
    if (!isOfUser(entry)) continue;
    if (entry.profile) known.set(entry.user, entry.profile);
    for (const draft of draftsOf(config, kinds, entry)) told.push([draft, known.get(entry.user)]);
  }
  if (told.length === 0) return 0;
  const missing = told.filter(([, profile]) => !profile).map(([draft]) => draft.user);
  const stored = await readProfiles(client, config.tenant, missing);
  const pending: Draft[] = [];
  const messages = told.flatMap(([draft, profile = stored.get(draft.user)]) => {
    if (!profile) return [];
    if (draft.kind === 'emails.achievement_due') {
      const isNow = isAchievementHour(config.document, profile[userFields.tz] || config.document.settings.defaultTimeZone, draft.at);
      if (!isNow) pending.push(draft);
      if (!isNow || !isWrittenTo(profile, 'achievement_completed')) return [];
    }
    return [messageOf(draft, userResponse(config, draft.user, profile))];
  });
  await keepPending(client, config.tenant, pending);
  return addToOutbox(client, config.tenant, config, messages);
}
