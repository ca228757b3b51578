import { completedBlock } from '../responses/events.js';
import { type EventEntry, type LedgerEntry, type PointsFact, type UserEntry, streakPlace } from '../ledger/entry.js';
import { mustGet, type ActiveConfig } from '../plan/active-config.js';
import { levelResponse, systemResponse } from '../responses/points.js';
import { at } from '../redis/encoding.js';
import { baseStreak, storedStreak } from '../responses/streaks.js';
import type { WebhookKind } from '../config/schema/webhook-kinds.js';
import type { WebhookEvent } from '../deliveries/outbox.js';
import type { UserResponse } from '../responses/users.js';

/** An entry about a user. */
export type EntryOfUser = EventEntry | UserEntry;

/** An event without its user, whose profile is read from Postgres for all drafts at once. */
export interface Draft {
  readonly kind: WebhookKind;
  readonly user: string;
  /** When it happened, in milliseconds since 1970. */
  readonly at: number;
  /** The payload without `type` and `user`. */
  readonly body: Readonly<Record<string, unknown>>;
}

type Body = Draft['body'];
type Emit = (kind: WebhookKind, body: () => Body) => void;

/** A draft with its user, as an event. */
export function eventOf({ kind, user: id, at, body }: Draft, user: UserResponse): WebhookEvent {
  return { kind, subject: `user:${id}`, user: id, at: new Date(at), payload: { type: kind, user, ...body } };
}

/** Whether an entry is about a user, and no deletion. */
export const isOfUser = (entry: LedgerEntry): entry is EntryOfUser => 'rev' in entry;

/**
 * The drafts of an entry that are sent at once, in the order of its events (docs/rules/webhooks.md), limited to `kinds`. Activations publish nothing
 * (docs/rules/achievements.md).
 */
export function draftsOf(config: ActiveConfig, kinds: ReadonlySet<WebhookKind>, entry: EntryOfUser): Draft[] {
  if (entry.kind === 'activation') return [];
  const drafts: Draft[] = [];
  const emit: Emit = (kind, body) => {
    if (kinds.has(kind)) drafts.push({ kind, user: entry.user, at: entry.at, body: body() });
  };
  emitStreak(config, entry, emit);
  if ((entry.achieved?.length ?? 0) > 0 && (kinds.has('achievement.completed') || kinds.has('emails.achievement_due'))) {
    for (const achievement of completedBlock(config, entry)) {
      emit('achievement.completed', () => ({ achievement }));
      emit('emails.achievement_due', () => ({ timestamp: new Date(entry.at).toISOString(), achievement }));
    }
  }
  emitLevels(config, entry, emit);
  return drafts;
}

/**
 * Freezes are earned before they are used; but freezes that remain after a streak was lost were earned later. A new streak can start in the entry that
 * lost the old one (docs/rules/streaks.md). Only an event extends a streak: in other entries the conditions have changed, or it is restored, which is silent.
 * The frequency is that of the entry: the configuration may have another one by now.
 */
function emitStreak(config: ActiveConfig, entry: EntryOfUser, emit: Emit): void {
  const { streaks, periods = [], freezes: earned } = entry;
  if (streaks === undefined) return;
  const shown = periods.filter(({ isShown }) => isShown);
  const freezes = at(streaks, 'core', 'freezes') as number;
  const lost = shown.filter(({ how }) => how === 'lost');
  const isLost = lost.length > 0;
  const emitEarned = (): void => {
    if (earned !== undefined) emit('streak.freeze_earned', () => ({ earned, freezes }));
  };
  if (!isLost || freezes === 0) emitEarned();
  const consumed = shown.filter(({ how }) => how === 'freeze').length;
  if (consumed > 0) emit('streak.freeze_consumed', () => ({ consumed, freezes }));
  for (const { frequency } of lost) emit('streak.lost', () => ({ length: streakPlace(streaks, frequency, 'lostLength') }));
  if (isLost && freezes > 0) emitEarned();
  const extension = shown.find(({ how }) => how === 'extended');
  if (!extension || entry.kind !== 'event') return;
  const kind = extension.length === 1 ? 'streak.started' : 'streak.extended';
  const { frequency } = extension;
  const { daysOff = [] } = entry.streak ?? {};
  emit(kind, () => ({ streak: baseStreak(config, { ...storedStreak(config, streaks, frequency, true), daysOff }, frequency) }));
}

/** The facts of an entry with earned or lost points. (When levels change, users are recounted by entries whose facts have no awards.) */
export const earnedIn = ({ points }: EntryOfUser): PointsFact[] => points.filter(({ awards }) => awards.length > 0);

/** Both levels of a fact are those under one configuration, so a change of the levels themselves publishes nothing. */
function emitLevels(config: ActiveConfig, entry: EntryOfUser, emit: Emit): void {
  const levelOf = (no: number) => (no === 0 ? null : levelResponse(mustGet(config.levelByNo, no, 'level')));
  for (const { no, total, level, levelBefore } of earnedIn(entry)) {
    if (level === levelBefore) continue;
    emit('points.level_changed', () => ({
      points: { ...systemResponse(mustGet(config.systemByNo, no, 'points system')), total },
      previousLevel: levelOf(levelBefore),
      newLevel: levelOf(level),
    }));
  }
}
