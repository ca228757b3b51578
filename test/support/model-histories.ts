import type { Arena } from './engine-subject.js';
import { playHistories } from './histories.js';
import { historyArbitrary } from './model/arbitraries.js';
import { baseMs } from './model/documents.js';
import { printHistory, runHistory } from './model/history.js';
import { Model } from './model/index.js';
import { shrink } from './model/shrink.js';

/** Plays random histories on the engine and on the model: every response and the final state must be equal. */
export async function playOnModel(
  arena: Arena,
  run: { histories: number; maxSteps: number; seed: number; shrink?: boolean },
): Promise<void> {
  const { maxSteps, shrink: isShort = false, ...rest } = run;
  await playHistories({
    ...rest,
    name: 'The model',
    arbitrary: historyArbitrary({ maxSteps }),
    play: async (history) => {
      const session = await arena.enter(history.config, baseMs);
      try {
        await runHistory(history, new Model(history.config, baseMs), session.subject);
      } finally {
        await session.leave();
      }
    },
    print: printHistory,
    ...(isShort ? { shrink } : {}),
  });
}
