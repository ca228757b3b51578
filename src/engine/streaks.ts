import { randomUUID } from 'node:crypto';
import { dateToDay, dayToDate } from '../shared/calendar.js';
import { streakFact, type PauseFact, type StreakFact } from '../ledger/entry.js';
import type { StreakLength } from '../history/reader.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { outcomes } from '../redis/contract.js';
import { unpackMessage } from '../redis/encoding.js';
import { baseStreak, historyResponse } from '../responses/streaks.js';
import type { StreakRanking, StreakResponse } from '../responses/streaks.js';
import { instant } from '../responses/users.js';
import type { Engine } from './engine.js';
import type { Stores } from './leaderboards.js';
import { refusal, type Result, toResult } from './refusals.js';
import { userRevision } from './users.js';

/** When a streak was last extended; null without a streak. */
const lastExtension = (fact: StreakFact | undefined): string | null => (fact && fact.length > 0 ? instant(fact.extendedAt) : null);

type StreakStores = Pick<Stores, 'engine' | 'clock' | 'history'>;

/**
 * A user's streak with the history of the last periods, the current one included, oldest first; the contract's `StreakResponse`. Throws a 404
 * for an unknown user.
 */
export const readStreak = async (stores: StreakStores, tenant: number, id: string, historyPeriods: number): Promise<StreakResponse> =>
  (await readStreakAndFact(stores, tenant, id, historyPeriods)).response;

/** The same, with what it was made from. */
export async function readStreakAndFact(
  { engine, clock, history }: StreakStores,
  tenant: number,
  id: string,
  historyPeriods: number,
): Promise<{ readonly config: ActiveConfig; readonly fact: StreakFact | undefined; readonly response: StreakResponse }> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'readStreak', () => ({ args: { user: id, entryId } }));
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  const [packedStreak, packedPauses, day, ...revision] = values;
  const streak = streakFact(unpackMessage(packedStreak));
  const pauses = unpackMessage(packedPauses) as readonly PauseFact[];
  const { frequency } = config.document.streaks;
  const span = streak && historyPeriods > 0 ? { first: streak.current - historyPeriods + 1, last: streak.current } : undefined;
  const rows = span
    ? await history.ofUser(
        {
          tenant,
          user: id,
          revision: userRevision(revision),
          what: `streak ${frequency} ${span.first} ${span.last}`,
          newestId: async () => (await clock.ledgerId(tenant)).ledgerId,
        },
        () => history.streakPeriods(tenant, id, frequency, span),
      )
    : [];
  const response = {
    ...baseStreak(config, streak),
    extended: lastExtension(streak),
    streakHistory: streak ? historyResponse(config, streak, new Map(rows.map((row) => [row.period, row])), historyPeriods) : [],
    pauses: pauses
      .filter(({ last }) => last >= Number(day))
      .map(({ id: pauseId, first, last }) => ({ id: pauseId, start: dayToDate(first), end: dayToDate(last) })),
  };
  return { config, fact: streak, response };
}

/** The shown streaks of users, in one call, in the order of `ids`; undefined for a user who does not exist. */
export async function readStreaks(engine: Engine, tenant: number, ids: readonly string[]): Promise<(StreakFact | undefined)[]> {
  const pairs = ids.flatMap((id) => [randomUUID(), id]);
  const { values } = await engine.call(tenant, 'readStreaks', () => ({ args: {}, pairs }));
  return (unpackMessage(values[0]) as readonly unknown[]).map(streakFact);
}

/** The shown streaks of users, the longest first; a user who does not exist has none. */
export async function rankStreaks(engine: Engine, tenant: number, ids: readonly string[]): Promise<StreakRanking[]> {
  const unique = [...new Set(ids)];
  const facts = await readStreaks(engine, tenant, unique);
  return unique
    .map((userId, i) => {
      const fact = facts[i];
      return { userId, streakLength: fact?.length ?? 0, extended: lastExtension(fact) };
    })
    .sort((a, b) => b.streakLength - a.streakLength);
}

/**
 * The users with the longest streaks of the configured frequency, now (`active`) or ever (`longest`), at most `count`. From Postgres; a streak that
 * time has ended is out of it when the sweep has settled its user.
 */
export async function streakRankings(
  { engine, clock, history }: Stores,
  tenant: number,
  type: 'active' | 'longest',
  count: number,
): Promise<StreakLength[]> {
  const { ledgerId } = await clock.ledgerId(tenant);
  const { enabled, frequency } = (await engine.config(tenant)).document.streaks;
  if (!enabled) return [];
  await history.waitFor(tenant, ledgerId);
  return history.streakRankings(tenant, frequency, type, count);
}

/**
 * Changes a user's streak: gives the user a freeze or takes one, restores the streak that the user lost last, or ends the current one. The value is
 * the user's id. With `isDryRun`, only says whether it would.
 */
export async function changeStreak(
  engine: Engine,
  tenant: number,
  change: 'grantFreeze' | 'takeFreeze' | 'restoreStreak' | 'resetStreak',
  user: string,
  isDryRun = false,
): Promise<Result<string>> {
  const entryId = randomUUID();
  const { outcome } = await engine.call(tenant, change, () => ({ args: { user, entryId, dryRun: isDryRun ? 1 : 0 } }));
  return toResult(outcome, user);
}

/** Pauses a user's streak on local dates, both inclusive. The value is the pause's id. */
export async function addPause(
  engine: Engine,
  tenant: number,
  user: string,
  { start, end }: { readonly start: string; readonly end: string },
): Promise<Result<string>> {
  const id = randomUUID();
  const args = { user, entryId: id, first: dateToDay(start), last: dateToDay(end) };
  const { outcome } = await engine.call(tenant, 'addPause', () => ({ args }));
  return toResult(outcome, id);
}

/** Removes a pause of a user. The value is the pause's id. */
export async function removePause(engine: Engine, tenant: number, user: string, pause: string): Promise<Result<string>> {
  const entryId = randomUUID();
  const { outcome } = await engine.call(tenant, 'removePause', () => ({ args: { user, entryId, pause } }));
  return toResult(outcome, pause);
}
