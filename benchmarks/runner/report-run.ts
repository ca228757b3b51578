import { join } from 'node:path';
import { reportPage } from '../report/page.js';
import type { RunTools, Values } from './bench.js';
import type { Kind } from './kind.js';
import { runKind } from './run.js';
import { newRun, readRunFile, writeFile, type KindResult } from './run-file.js';

export interface ReportOptions {
  readonly against?: string;
  /** The JSON file of an earlier run. */
  readonly compare?: string;
  /** The folder of the files. */
  readonly out: string;
}

/** A kind, and the values of its options. */
export interface Choice {
  readonly kind: Kind;
  readonly values: Values;
}

/**
 * Runs kinds one after the other, and writes what they measured as JSON and as a report after each, so that an interrupted run keeps what it
 * has. Returns whether every kind could be measured and every request got a 2xx.
 */
export async function runAndReport(
  choices: readonly Choice[],
  { against, compare, out, signal, print }: ReportOptions & Omit<RunTools, 'against' | 'isTiny'>,
): Promise<boolean> {
  const run = newRun(against);
  const earlier = compare === undefined ? undefined : readRunFile(compare);
  const file = join(out, `${run.startedAt.replace(/\.\d+Z$/, '').replaceAll(':', '')}-${run.commit.replace('+', '')}.json`);
  const kinds: KindResult[] = [];
  let isRight = true;
  for (const { kind, values } of choices) {
    signal.throwIfAborted();
    try {
      kinds.push(await runKind(kind, values, { against, isTiny: false, signal, print }));
    } catch (error) {
      signal.throwIfAborted();
      print(`${kind.name} could not be measured: ${error instanceof Error ? error.message : String(error)}`);
      isRight = false;
    }
    writeFile(file, `${JSON.stringify({ ...run, kinds }, null, 1)}\n`);
    writeFile(reportFile(file), reportPage({ ...run, kinds }, earlier));
  }
  print(`\nFigures: ${file}\nReport:  ${reportFile(file)}`);
  return isRight && kinds.every(({ failures }) => failures === 0);
}

const reportFile = (file: string): string => file.replace(/(\.json)?$/, '.html');

/** Writes the report of a run again. Returns its file. */
export function writeReport(file: string, compare: string | undefined): string {
  const path = reportFile(file);
  writeFile(path, reportPage(readRunFile(file), compare === undefined ? undefined : readRunFile(compare)));
  return path;
}
