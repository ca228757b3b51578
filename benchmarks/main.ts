import { Command, Option, type OptionValues } from 'commander';
import { count, interruption, runCommand } from '../test/support/command.js';
import { kinds } from './kinds/index.js';
import { checkKinds } from './runner/check.js';
import type { Kind } from './runner/kind.js';
import { runAndReport, writeReport, type ReportOptions } from './runner/report-run.js';
import { valuesOf } from './runner/run.js';
import { drill } from './trials/drill.js';
import { largest } from './trials/largest.js';
import { measureMembers } from './trials/members.js';
import { midnight } from './trials/midnight.js';
import { soak } from './trials/soak.js';

/** Given to every run, besides its own options. */
const tools = { signal: interruption(), print: (line: string) => console.log(line) };

/** Runs a command. One that misses what it must hold fails. */
function doing<Options>(run: (options: Options & typeof tools) => Promise<unknown>): (options: Options) => Promise<void> {
  return async (options) => {
    if ((await run({ ...options, ...tools })) === false) process.exitCode = 1;
  };
}

/** Its options may stand after a kind too. */
const program = new Command('bench')
  .description('Measures Laurel on this machine: all kinds in turn, or one. How: benchmarks/README.md.')
  .option('--against <root>', 'the root of another checkout of Laurel, which is measured in turn with this one')
  .option('--compare <file>', 'the JSON file of an earlier run, which the report shows beside this one')
  .option('--out <folder>', 'where the JSON file and the report are written', 'bench-results')
  .option('--ci', 'check that each kind works, with tiny sizes, and that the recorded counts have not risen; measure nothing')
  .option('--record', 'with --ci: write the counts of this checkout to the file of recorded counts')
  .action(
    doing(({ ci = false, record = false, ...options }: ReportOptions & { ci?: boolean; record?: boolean }) =>
      ci
        ? checkKinds({ ...tools, record })
        : runAndReport(
            kinds.map((kind) => ({ kind, values: valuesOf(kind, false) })),
            { ...options, ...tools },
          ),
    ),
  );

/** The options of a kind, such as `--seconds 8`, by its declaration. */
function addKind(kind: Kind): void {
  const command = program.command(kind.name).description(kind.summary);
  for (const [name, { text, value }] of Object.entries(kind.options)) command.option(`--${name} <number>`, text, count, value);
  const words = Object.entries(kind.words ?? {}).map(([name, { text, of }]) => {
    const option = new Option(`--${name} <${name}>`, text);
    command.addOption(of ? option.choices(of) : option);
    return { name, attribute: option.attributeName() };
  });
  command.action(
    doing((options: OptionValues) => {
      const numbers = Object.keys(kind.options).map((name): [string, number] => [name, Number(options[name])]);
      const given = words.flatMap(({ name, attribute }): [string, string][] =>
        options[attribute] === undefined ? [] : [[name, String(options[attribute])]],
      );
      const values = Object.fromEntries<number | string>([...numbers, ...given]);
      return runAndReport([{ kind, values }], { ...program.opts<ReportOptions>(), ...tools });
    }),
  );
}
for (const kind of kinds) addKind(kind);

program
  .command('report')
  .argument('<file>', 'the JSON file of a run')
  .description('Writes the report of a run again, beside the file; with --compare, beside an earlier run')
  .action((file: string) => console.log(writeReport(file, program.opts<ReportOptions>().compare)));

program
  .command('members')
  .description('Bytes of Redis for each user on a leaderboard, and µs of the function for an event of one')
  .option('--members <number>', 'users on the leaderboard', count, 1_000_000)
  .option('--rounds <number>', 'rounds that count', count, 50)
  .action(doing(measureMembers));
program
  .command('largest')
  .description('The longest calls inside Redis under the largest configurations that are accepted')
  .option('--rounds <number>', 'rounds, of which the shortest figure counts', count, 3)
  .action(doing(largest));
program
  .command('midnight')
  .description('Users whose streaks are due at midnight in 24 zones: the time of the sweep, and of events during it')
  .option('--users <number>', 'how many users', count, 1_000_000)
  .option('--rate <number>', 'events a second during it', count, 300)
  .option('--connections <number>', 'connections that send them', count, 32)
  .option('--seconds <number>', 'length of the measurement with no user due', count, 20)
  .action(doing(midnight));
program
  .command('soak')
  .description('Half of what the service can do, for a time: memory and stream stay flat, and every event gets a 2xx')
  .option('--minutes <number>', 'how long', count, 60)
  .option('--capacity-seconds <number>', 'length of the measurement of what it can do', count, 10)
  .option('--connections <number>', 'connections that send at the same time', count, 32)
  .option('--program <file>', 'another script of the laurel command, such as that of an unpacked release')
  .action(doing(soak));
program
  .command('drill')
  .description('The backup drill: load, back up, lose Redis, bring it back, lose Postgres, bring it back, compare; and how long each takes')
  .option('--users <number>', 'how many users', count, 20_000)
  .option('--seconds <number>', 'how long events come in', count, 20)
  .option('--connections <number>', 'connections that send them', count, 32)
  .option('--program <file>', 'another script of the laurel command, such as that of an unpacked release')
  .action(doing(drill));

await runCommand(program);
