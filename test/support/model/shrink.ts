/** Makes a failing history short: fewer steps and edits, fewer objects, as long as it still fails. */
import type { ConfigDocument } from '../../../src/config/schema/model.js';
import { validateConfig } from '../../../src/config/check/validate.js';
import type { History, Step } from './history.js';

type Fails<T> = (candidate: T) => Promise<boolean>;

/** A list with as few elements as possible that still fails: removes halves, quarters … and single elements. */
async function fewest<T>(list: readonly T[], fails: Fails<readonly T[]>): Promise<readonly T[]> {
  let kept = list;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // From the end: what comes later needs what was before.
    for (let from = kept.length - size; from > -size; from -= size) {
      const candidate = [...kept.slice(0, Math.max(0, from)), ...kept.slice(from + size)];
      if (await fails(candidate)) kept = candidate;
    }
  }
  return kept;
}

const lists = ['stages', 'before', 'edits', 'during', 'after', 'hops', 'userIds'] as const;

/** A step with shorter lists, inside the stages of a lapse too. */
async function shorter(step: Step, fails: Fails<Step>): Promise<Step> {
  type Listed = Step & Partial<Record<(typeof lists)[number], readonly unknown[]>>;
  let kept = step as Listed;
  for (const list of lists) {
    const whole = kept[list];
    if (whole && whole.length > 0) {
      const rest = await fewest(whole, (candidate) => fails({ ...kept, [list]: candidate }));
      kept = { ...kept, [list]: rest };
    }
  }
  for (const [index, stage] of (kept.do === 'lapse' ? kept.stages : []).entries()) {
    const own = await shorter({ do: 'configure', ...stage }, (candidate) => fails(withStage(kept, index, candidate)));
    kept = withStage(kept, index, own) as Listed;
  }
  return kept;
}

const withStage = (step: Step, index: number, stage: Step): Step =>
  step.do === 'lapse' ? { ...step, stages: step.stages.map((one, at) => (at === index ? { ...one, ...stage } : one)) } : step;

const plainLists = ['leaderboards', 'achievements', 'webhooks', 'templates'] as const;
const nestedLists = ['boosts', 'levels', 'triggers'] as const;

/** Smaller documents that are valid, one object or setting less each. */
function* smaller(document: ConfigDocument): Generator<ConfigDocument> {
  for (const list of plainLists) {
    for (const object of document[list])
      yield { ...document, [list]: (document[list] as readonly object[]).filter((one) => one !== object) };
  }
  for (const system of document.pointsSystems) {
    yield { ...document, pointsSystems: document.pointsSystems.filter((one) => one !== system) };
    for (const list of nestedLists) {
      for (const object of system[list]) {
        const rest = { ...system, [list]: (system[list] as readonly object[]).filter((one) => one !== object) };
        yield { ...document, pointsSystems: document.pointsSystems.map((one) => (one === system ? rest : one)) };
      }
    }
    if (system.maxPoints !== null) {
      const free = { ...system, maxPoints: null };
      yield { ...document, pointsSystems: document.pointsSystems.map((one) => (one === system ? free : one)) };
    }
  }
  const { freezes, enabled, daysOff } = document.streaks;
  if (enabled) yield { ...document, streaks: { ...document.streaks, enabled: false } };
  if (daysOff.length > 0) yield { ...document, streaks: { ...document.streaks, daysOff: [] } };
  if (freezes.maximum > 0) {
    yield { ...document, streaks: { ...document.streaks, freezes: { initial: 0, maximum: 0, earnInterval: 0, earnAmount: 0 } } };
  }
}

async function smallest(document: ConfigDocument, fails: Fails<ConfigDocument>): Promise<ConfigDocument> {
  for (const candidate of smaller(document)) {
    if (validateConfig(candidate).length === 0 && (await fails(candidate))) return smallest(candidate, fails);
  }
  return document;
}

/** A shorter history that fails too. `fails` plays one, from the beginning. */
export async function shrink(history: History, fails: Fails<History>): Promise<History> {
  let { config, steps } = history;
  steps = await fewest(steps, (candidate) => fails({ config, steps: candidate }));
  for (const index of steps.keys()) {
    const at = steps[index];
    if (!at) continue;
    const next = await shorter(at, (step) => fails({ config, steps: steps.with(index, step) }));
    steps = steps.with(index, next);
  }
  config = await smallest(config, (candidate) => fails({ config: candidate, steps }));
  steps = await fewest(steps, (candidate) => fails({ config, steps: candidate }));
  return { config, steps };
}
