/**
 * `npm run chaos`: kills, freezes and stops the API, the worker, Redis and Postgres under load, and checks after each round that every
 * acknowledged event is stored exactly once (docs/operations/chaos.md).
 */
import { Command } from 'commander';
import { count, interruption, runCommand } from '../../support/command.js';
import { runSeed } from '../../support/random.js';
import { playChaos, type RoundReport } from './round.js';

interface Options {
  readonly seed: number;
  readonly rounds: number;
  readonly phases: number;
  readonly clients: number;
  readonly pause: number;
  readonly freeze: number;
  readonly outage: number;
  readonly only?: string;
}

const sum = (reports: readonly RoundReport[], of: (report: RoundReport) => number): number =>
  reports.reduce((all, report) => all + of(report), 0);

function summary(reports: readonly RoundReport[]): string {
  const faults = sum(reports, (report) => report.faults.flatMap((phase) => phase.split(' + ')).length);
  const of = (name: 'lost' | 'refused' | 'found' | 'replays'): number => sum(reports, ({ tally }) => tally[name]);
  return (
    `${reports.length} rounds, ${faults} faults, ${sum(reports, ({ events }) => events)} events acknowledged, each exactly once; ` +
    `${of('lost')} responses lost, ${of('found')} of them of counted events, ${of('refused')} refused with 503, ` +
    `${of('replays')} replays; longest drain ${(Math.max(...reports.map(({ drainedMs }) => drainedMs)) / 1_000).toFixed(1)} s.`
  );
}

const interrupted = interruption();

const program = new Command('chaos')
  .description('Kills, freezes and stops everything under load, and checks that no event is lost, counted twice or different.')
  .option('--seed <number>', 'seed of the schedule', count, runSeed())
  .option('--rounds <number>', 'how many rounds', count, 5)
  .option('--phases <number>', 'faults per round', count, 4)
  .option('--clients <number>', 'clients that send events', count, 16)
  .option('--pause <ms>', 'the longest pause of a client between two events', count, 100)
  .option('--freeze <ms>', 'longest freeze or outage', count, 6_000)
  .option('--outage <seconds>', 'how long Postgres is stopped in every 25th round, and in the last', count, 120)
  .option('--only <text>', 'only faults whose names contain this')
  .action(async ({ pause, freeze, outage, ...rest }: Options) => {
    console.log(`SEED=${rest.seed}`);
    const options = { ...rest, pauseMs: pause, maxPauseMs: freeze, outageMs: outage * 1_000, print: console.log };
    console.log(summary(await playChaos(options, interrupted)));
  });

await runCommand(program);
