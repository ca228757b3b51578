/** Composite achievements that need themselves. */
import { type Achievement } from '../schema/model.js';
import { type At, type Parts } from './parts.js';
import { type ConfigProblem } from '../file/problems.js';
import { neededBy } from './references.js';

/** The ids of achievements, and for each of them those that it needs. */
type Needs = ReadonlyMap<string, readonly string[]>;

/**
 * Achievements that need themselves, through however many others. A problem names one cycle; another cycle that shares an achievement with it
 * is reported once this one is broken.
 */
export function cycleProblems({ achievements }: Parts): ConfigProblem[] {
  const byId = new Map(achievements.map((at) => [at.object.id, at]));
  const needs = withoutEnds(new Map(achievements.map(({ object }) => [object.id, neededBy(object).filter((id) => byId.has(id))])));
  return findCycles(needs).map((cycle) => cycleProblem(cycle.flatMap((id) => byId.get(id) ?? [])));
}

/** What is left once achievements without prerequisites are removed, again and again: from each of the rest a way leads into a cycle. */
function withoutEnds(needs: Needs): Needs {
  const wanted = new Map<string, string[]>([...needs.keys()].map((id) => [id, []]));
  const open = new Map([...needs].map(([id, others]) => [id, others.length]));
  for (const [id, others] of needs) {
    for (const other of others) wanted.get(other)?.push(id);
  }
  const ends = [...needs.keys()].filter((id) => open.get(id) === 0);
  const gone = new Set<string>();
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    gone.add(end);
    for (const id of wanted.get(end) ?? []) {
      const left = (open.get(id) ?? 0) - 1;
      open.set(id, left);
      if (left === 0) ends.push(id);
    }
  }
  const rest = [...needs].filter(([id]) => !gone.has(id));
  return new Map(rest.map(([id, others]) => [id, others.filter((other) => !gone.has(other))]));
}

/** Cycles that share no member, each as the ids in it. Every achievement in `needs` needs another one in it. */
function findCycles(needs: Needs): string[][] {
  const passed = new Set<string>();
  return [...needs.keys()].flatMap((start) => {
    const way: string[] = [];
    let id = start;
    while (!passed.has(id)) {
      passed.add(id);
      way.push(id);
      id = needs.get(id)?.[0] ?? id;
    }
    // The way ends where it has been before, or on one that an earlier way took.
    const entry = way.indexOf(id);
    return entry < 0 ? [] : [way.slice(entry)];
  });
}

/** The problem stands at the member that changed last: it closed the cycle, so it is in the file that is being applied. */
function cycleProblem(cycle: readonly At<Achievement>[]): ConfigProblem {
  const last = cycle.reduce((latest, { object }, index) => (object.updated > (cycle[latest]?.object.updated ?? '') ? index : latest), 0);
  const turned = [...cycle.slice(last), ...cycle.slice(0, last)];
  const [first, second = first] = turned;
  if (!first || !second) throw new Error('a cycle without members');
  return {
    code: 'cycle',
    path: [...first.path, 'achievementIds', neededBy(first.object).indexOf(second.object.id)],
    subject: { kind: 'achievement', key: first.object.key },
    keys: [...turned, first].map(({ object }) => object.key),
  };
}
