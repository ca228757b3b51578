import { Command } from 'commander';
import { count, interruption, runCommand } from '../test/support/command.js';
import { batch } from './batch.js';
import { drill } from './drill.js';
import { measureFunctionAgainst, type FunctionAgainstOptions } from './function-against.js';
import { measureFunction } from './function.js';
import { largest } from './largest.js';
import { measureMembers } from './members.js';
import { measureMemory } from './memory.js';
import { midnight } from './midnight.js';
import { restore } from './restore.js';
import { soak } from './soak.js';
import { track } from './track.js';
import { measureWriteBehind } from './write-behind.js';

const program = new Command('bench').description('Measures Laurel on this machine. How: benchmarks/README.md.');

/** Given to every run, besides its own options. */
const tools = { signal: interruption(), print: (line: string) => console.log(line) };

/** Runs a command. One that misses its target fails. */
function doing<Options>(run: (options: Options & typeof tools) => Promise<unknown>): (options: Options) => Promise<void> {
  return async (options) => {
    if ((await run({ ...options, ...tools })) === false) process.exitCode = 1;
  };
}

/** With another checkout, both functions are compared; else ours is compared with the commands that it makes. */
function measureFunctionOrPair(options: Omit<FunctionAgainstOptions, 'against'> & { readonly against?: string }): Promise<void> {
  const { against } = options;
  return against === undefined ? measureFunction(options) : measureFunctionAgainst({ ...options, against });
}

program
  .command('track')
  .description('Events a second over HTTP, in turn with a bare server that does no work of its own')
  .option('--rounds <number>', 'rounds of each side that count', count, 5)
  .option('--seconds <number>', 'length of a round', count, 8)
  .option('--connections <number>', 'connections that send at the same time', count, 64)
  .action(doing(track));
program
  .command('function')
  .description('µs an event inside Redis, in turn with the commands that the function makes for it')
  .option('--rounds <number>', 'rounds of each side that count', count, 100)
  .option('--events <number>', 'events of a round', count, 100)
  .option('--against <root>', 'another checkout of Laurel: its function in turn with ours, and the ratio')
  .option('--starts <number>', 'with --against: how many times both servers are started', count, 3)
  .action(doing(measureFunctionOrPair));
program
  .command('write-behind')
  .description('Entries a second, and CPU of Postgres and of the write-behind for an event, of a write-behind that drains a full ledger')
  .option('--against <root>', 'another checkout of Laurel: its write-behind in turn with ours, and the ratios')
  .option('--starts <number>', 'how many times the process of each side is started', count, 3)
  .option('--rounds <number>', 'rounds of each side that count, after each start', count, 3)
  .option('--events <number>', 'events of the ledger', count, 40_000)
  .option('--users <number>', 'users that have sent them', count, 4_000)
  .action(doing(measureWriteBehind));
program
  .command('memory')
  .description('Bytes of Redis for a user and for an idempotency key')
  .option('--against <root>', 'another checkout of Laurel, and the ratios')
  .option('--users <number>', 'how many users', count, 2_000)
  .option('--events <number>', 'events of each of them', count, 20)
  .action(doing(measureMemory));
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
  .command('batch')
  .description('Events a second in batches of 1,000, in turn with the same events one by one')
  .option('--rounds <number>', 'rounds that count', count, 3)
  .option('--seconds <number>', 'length of each part of a round', count, 4)
  .option('--connections <number>', 'connections that send single events', count, 64)
  .action(doing(batch));
program
  .command('restore')
  .description('Users a second that a restore brings back, and the ratio to writing the same keys with plain pipelined commands')
  .option('--users <number>', 'how many users', count, 20_000)
  .option('--events <number>', 'events of each of them', count, 20)
  .option('--folder <path>', 'a folder that is kept, with the users that it was filled with for the next run')
  .action(doing(restore));

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
