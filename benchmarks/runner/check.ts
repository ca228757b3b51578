import { kinds } from '../kinds/index.js';
import { countAll, problemsOf, readRecorded, record } from './counts.js';
import { runKind, valuesOf } from './run.js';
import type { Kind } from './kind.js';
import type { KindResult } from './run-file.js';

export interface CheckOptions {
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  /** Whether to write the counts of this checkout to the file of recorded counts. */
  readonly record: boolean;
}

/** What is wrong with the result of a kind of tiny sizes. */
function problemsOfKind({ name, cases, rounds, failures }: KindResult): string[] {
  const isMeasured = ({ figures }: KindResult['rounds'][number]): boolean =>
    Object.values(figures).length > 0 && Object.values(figures).every(Number.isFinite);
  return [
    ...(cases.length > 0 ? [] : [`${name}: nothing was measured.`]),
    ...rounds.filter((round) => !isMeasured(round)).map((round) => `${name}: a figure of "${round.case}" (${round.side}) is missing.`),
    ...(failures > 0 ? [`${name}: ${failures} requests did not get a 2xx.`] : []),
  ];
}

async function check(kind: Kind, { signal, print }: CheckOptions): Promise<string[]> {
  try {
    const result = await runKind(kind, valuesOf(kind, true), { against: undefined, isTiny: true, signal, print });
    print(`${kind.name}: ${result.seconds.toFixed(1)} s`);
    return problemsOfKind(result);
  } catch (error) {
    signal.throwIfAborted();
    return [`${kind.name}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/**
 * Checks with tiny sizes that each kind works, and that the exact counts of commands have not risen above the recorded ones. No figure of time
 * is looked at. Returns whether all is as it should be.
 */
export async function checkKinds(options: CheckOptions): Promise<boolean> {
  const { signal, print } = options;
  const problems: string[] = [];
  for (const kind of kinds) problems.push(...(await check(kind, options)));
  print('\n== counts: commands an event and a request');
  const counts = await countAll(signal);
  for (const [name, count] of Object.entries(counts)) print(`${name}: ${count}`);
  if (options.record) record(counts);
  const risen = problemsOf(counts, readRecorded());
  if (risen.length > 0) risen.push('Counts that are meant to change are recorded by npm run bench -- --ci --record.');
  problems.push(...risen);
  for (const problem of problems) print(`PROBLEM: ${problem}`);
  return problems.length === 0;
}
