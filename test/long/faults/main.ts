/**
 * `npm run faults`: plants each fault of the table in turn and prints the history of the model test that caught it. Fails when a fault is
 * not caught, when its text is not in its module, or when a history fails on the library without a fault.
 */
import { Command } from 'commander';
import { count, runCommand } from '../../support/command.js';
import { OwnRedis } from '../../support/own-redis.js';
import { stopStores } from '../../support/stores.js';
import { faults, type Fault } from './table.js';
import { candidates, plant, tryHistories, type Candidate, type Verdict } from './trial.js';

interface Options {
  readonly fault?: string;
  readonly seed: number;
  readonly seeds: number;
  readonly histories: number;
  readonly steps: number;
  readonly lanes: number;
  readonly differences?: true;
}

const columns = [52, 14, 12] as const;
const row = (cells: readonly string[]): string => cells.map((cell, at) => cell.padEnd(columns[at] ?? 0)).join(' ');

const describe = ({ by, played, hung }: Verdict): string =>
  by ? `history ${by.nth} of seed ${by.seed}, the ${played}. played${hung ? ' (it hung)' : ''}` : 'NOT CAUGHT';

/** Plays the histories on a library with a fault, and replaces a Redis that hangs. */
class Trials {
  private redis: OwnRedis | undefined;

  async run(histories: readonly Candidate[], lanes: number, fault?: Fault): Promise<Verdict> {
    const library = fault && plant(fault);
    this.redis ??= await OwnRedis.start({ durable: false });
    const verdict = await tryHistories(histories, lanes, { ...(library ? { library } : {}), redisUrl: this.redis.url });
    if (verdict.hung) {
      await this.redis.kill();
      await this.stop();
    }
    return verdict;
  }

  async stop(): Promise<void> {
    await this.redis?.stop();
    this.redis = undefined;
  }
}

async function tryAll(options: Options): Promise<boolean> {
  const seeds = Array.from({ length: options.seeds }, (_, index) => options.seed + index);
  const histories = candidates(seeds, Math.ceil(options.histories / seeds.length), options.steps);
  const chosen = faults.filter(({ name, module }) => options.fault === undefined || `${module} ${name}`.includes(options.fault));
  // Check all texts before the first history.
  for (const fault of chosen) plant(fault);
  const trials = new Trials();
  // An interrupted run stops its servers.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void Promise.allSettled([trials.stop(), stopStores()]).then(() => process.exit(1)));
  }
  let [missed, most] = [0, 1];
  console.log(row(['fault', 'module', 'caught by']));
  try {
    for (const fault of chosen) {
      const verdict = await trials.run(histories, options.lanes, fault);
      console.log(row([fault.name, fault.module, describe(verdict)]));
      if (options.differences) console.log(verdict.difference.replaceAll(/^/gm, '    ').slice(0, 2_000));
      if (!verdict.by) missed += 1;
      most = Math.max(most, verdict.played);
    }
    const sound = await trials.run(histories.slice(0, most), options.lanes);
    console.log(
      row(['no fault', '', sound.by ? `WRONGLY ${describe(sound)}\n${sound.difference}` : `nothing differs in ${most} histories`]),
    );
    console.log(`${chosen.length - missed} of ${chosen.length} faults were caught.`);
    return missed === 0 && !sound.by;
  } finally {
    await trials.stop();
    await stopStores();
  }
}

const program = new Command('faults')
  .description('Plants deliberate faults in the function library, and prints which histories of the model test catch them.')
  .option('--fault <text>', 'only faults whose module and name contain this')
  .option('--seed <number>', 'the first seed', count, 20_400_102)
  .option('--seeds <number>', 'how many consecutive seeds', count, 6)
  .option('--histories <number>', 'histories per fault at most', count, 300)
  .option('--steps <number>', 'steps of a history at the most', count, 200)
  .option('--lanes <number>', 'concurrent histories', count, 4)
  .option('--differences', 'print the differences')
  .action(async (options: Options) => {
    process.exitCode = (await tryAll(options)) ? 0 : 1;
  });

await runCommand(program);
// A hung history may still wait for a response.
process.exit();
