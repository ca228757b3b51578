import type { Arena } from './engine-subject.js';
import { playHistories } from './histories.js';
import { historyArbitrary } from './model/arbitraries.js';
import { baseMs } from './model/documents.js';
import { printHistory, runHistory, type History } from './model/history.js';
import { Model } from './model/index.js';
import { shrink } from './model/shrink.js';

/** Plays a history on the engine and on the model: every response and the final state must be equal. */
export async function playHistory(arena: Arena, history: History): Promise<void> {
  const session = await arena.enter(history.config, baseMs);
  try {
    await runHistory(history, new Model(history.config, baseMs), session.subject);
  } finally {
    await session.leave();
  }
}

/** Plays random histories. */
export async function playOnModel(
  arena: Arena,
  run: { histories: number; maxSteps: number; seed: number; path?: string | undefined; shrink?: boolean },
): Promise<void> {
  const { maxSteps, shrink: isShort = false, ...rest } = run;
  await playHistories({
    ...rest,
    name: 'The model',
    arbitrary: historyArbitrary({ maxSteps }),
    play: (history) => playHistory(arena, history),
    print: printHistory,
    ...(isShort ? { shrink } : {}),
  });
}
