import { summarize, Summaries } from '../measure/summary.js';
import { Bench, type RunTools, type Values } from './bench.js';
import type { Kind, Target } from './kind.js';
import { summaryTable, targetTable } from './tables.js';
import type { KindResult, TargetResult } from './run-file.js';

/** The default values of a kind's options, or the tiny ones. */
export function valuesOf({ options }: Kind, isTiny: boolean): Record<string, number> {
  return Object.fromEntries(Object.entries(options).map(([name, { value, tiny }]) => [name, isTiny ? tiny : value]));
}

/** The options of a run without its secrets. */
const shownValues = ({ words = {} }: Kind, values: Values): Record<string, number | string> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => words[name]?.isSecret !== true));

/** Runs one kind, prints its rounds and its summary, and returns both. Throws when it can't be measured. */
export async function runKind(kind: Kind, values: Values, tools: RunTools): Promise<KindResult> {
  tools.print(`\n== ${kind.name}: ${kind.summary}`);
  const bench = new Bench(kind.figures, values, tools);
  const startedMs = performance.now();
  await kind.run(bench);
  const cases = summarize(bench.measured);
  const summaries = new Summaries(cases);
  const targets = tools.isTiny ? [] : kind.targets.flatMap((target) => measuredTarget(target, summaries) ?? []);
  if (!tools.isTiny) for (const line of [...summaryTable(cases, kind.figures), ...targetTable(targets)]) tools.print(line);
  if (bench.failures > 0) tools.print(`Requests without a 2xx: ${bench.failures}`);
  return {
    ...{ name: kind.name, summary: kind.summary, options: shownValues(kind, values), seconds: (performance.now() - startedMs) / 1_000 },
    ...{ figures: [...kind.figures], rounds: bench.measured, cases, targets, failures: bench.failures },
  };
}

function measuredTarget({ of, ...target }: Target, summaries: Summaries): TargetResult | undefined {
  const value = of(summaries);
  if (value === undefined || Number.isNaN(value)) return undefined;
  return { ...target, value, isMet: value >= (target.atLeast ?? -Infinity) && value <= (target.atMost ?? Infinity) };
}
