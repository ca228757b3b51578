import { completedBlock } from '../responses/events.js';
import type { EventEntry, LedgerEntry, PointsFact, UserEntry } from '../ledger/entry.js';
import { mustGet, type ActiveConfig } from '../plan/active-config.js';
import { levelResponse, systemResponse } from '../responses/points.js';
import { at } from '../redis/encoding.js';
import { baseStreak } from '../responses/streaks.js';
import { lostLength, shownStreak } from '../responses/streaks.js';
import type { WebhookKind } from '../config/webhook-kinds.js';

/** An entry about a user. */
export type EntryOfUser = EventEntry | UserEntry;

/** A message about a user that lacks the user: who that is is read from Postgres for all messages at once. */
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

/** Whether an entry is about a user, and no deletion. */
export const isOfUser = (entry: LedgerEntry): entry is EntryOfUser => 'rev' in entry;

/**
 * What an entry tells of its user at once, in the order in which it happened (docs/webhooks.md, "When each kind is sent"). What an activation
 * does is silent (docs/rules/achievements.md). Only kinds of `kinds` are made.
 */
export function draftsOf(config: ActiveConfig, kinds: ReadonlySet<WebhookKind>, entry: EntryOfUser): Draft[] {
  if (entry.kind === 'activation') return [];
  const drafts: Draft[] = [];
  const say: Emit = (kind, body) => {
    if (kinds.has(kind)) drafts.push({ kind, user: entry.user, at: entry.at, body: body() });
  };
  emitStreak(config, entry, say);
  if ((entry.achieved?.length ?? 0) > 0 && (kinds.has('achievement.completed') || kinds.has('emails.achievement_due'))) {
    for (const achievement of completedBlock(config, entry)) {
      say('achievement.completed', () => ({ achievement }));
      say('emails.achievement_due', () => ({ timestamp: new Date(entry.at).toISOString(), achievement }));
    }
  }
  emitLevels(config, entry, say);
  return drafts;
}

/**
 * Freezes are earned before they are used; but those that are left when a streak has been lost were earned later. A streak that is lost can begin
 * anew in the same entry (docs/rules/streaks.md).
 */
function emitStreak(config: ActiveConfig, { streaks, periods = [], freezes: earned }: EntryOfUser, say: Emit): void {
  if (streaks === undefined) return;
  const shown = periods.filter(({ frequency }) => frequency === config.document.streaks.frequency);
  const freezes = at(streaks, 'core', 'freezes') as number;
  const isLost = shown.some(({ how }) => how === 'lost');
  const emitEarned = (): void => {
    if (earned !== undefined) say('streak.freeze_earned', () => ({ earned, freezes }));
  };
  if (!isLost || freezes === 0) emitEarned();
  const consumed = shown.filter(({ how }) => how === 'freeze').length;
  if (consumed > 0) say('streak.freeze_consumed', () => ({ consumed, freezes }));
  if (isLost) say('streak.lost', () => ({ length: lostLength(config, streaks) }));
  if (isLost && freezes > 0) emitEarned();
  const extension = shown.find(({ how }) => how === 'extended');
  if (!extension) return;
  const kind = extension.length === 1 ? 'streak.started' : 'streak.extended';
  say(kind, () => ({ streak: baseStreak(config, shownStreak(config, streaks, true)) }));
}

/** What an entry says of points that were earned or lost. (When levels change, users are counted anew by entries with facts that have no award.) */
export const earnedIn = ({ points }: EntryOfUser): PointsFact[] => points.filter(({ awards }) => awards.length > 0);

/** Both levels of a fact are those that the totals have under one configuration, so a change of the levels themselves makes no message. */
function emitLevels(config: ActiveConfig, entry: EntryOfUser, say: Emit): void {
  const levelOf = (no: number) => (no === 0 ? null : levelResponse(mustGet(config.levelByNo, no, 'level')));
  for (const { no, total, level, levelBefore } of earnedIn(entry)) {
    if (level === levelBefore) continue;
    say('points.level_changed', () => ({
      points: { ...systemResponse(mustGet(config.systemByNo, no, 'points system')), total },
      previousLevel: levelOf(levelBefore),
      newLevel: levelOf(level),
    }));
  }
}
