/** What a planned change of the configuration would do to users, in numbers. */
import { setImmediate } from 'node:timers/promises';
import type { Counts } from '../../history/counts.js';
import { limits } from '../../shared/limits.js';
import { achievementQuestions } from './achievements.js';
import { dataQuestions } from './data.js';
import { leaderboardQuestions } from './leaderboards.js';
import { pointsQuestions } from './points.js';
import type { EffectSubject, PlannedChange, Question } from './question.js';

export interface Effect extends EffectSubject {
  /** Null where it is not counted, and for what is not about users. */
  readonly users: number | null;
  readonly sentence: string;
}

/** The least time that is worth a statement. */
const leastMs = 5;

/**
 * The effects of a change that can be known beforehand, in the order of a file, as of what Postgres has. Takes at most limits.countEffectsMs:
 * the sentence of an effect that takes longer says that it is not counted.
 */
export async function countEffects(counts: Counts, tenant: number, change: PlannedChange): Promise<Effect[]> {
  const questions: Question[] = [];
  for (const ask of [pointsQuestions, achievementQuestions, leaderboardQuestions, dataQuestions]) {
    questions.push(...ask(change));
    // Each takes some ms for the largest configurations.
    await setImmediate();
  }
  const end = performance.now() + limits.countEffectsMs;
  const effects: Effect[] = [];
  for (const { subject, count, of, sentence, what } of questions) {
    const leftMs = end - performance.now();
    const found = count && leftMs >= leastMs ? await counts.count(tenant, count, leftMs) : null;
    const isLate = found === null && count !== null;
    const uncounted = `The ${what} are not counted${isLate ? ': that would take too long' : ' beforehand'}.`;
    effects.push({ ...subject, users: of === 'users' ? found : null, sentence: found === null ? uncounted : sentence(found) });
  }
  return effects;
}
