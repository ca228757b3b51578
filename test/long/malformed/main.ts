/**
 * `npm run malformed`: random bytes, random JSON, mutated requests, odd encodings, pipelined and cut-off connections. Fails when a request
 * gets a 5xx or no response, when a refused request changes anything, or when memory grows.
 */
import cliProgress from 'cli-progress';
import { Command } from 'commander';
import { configText } from '../../support/answers.js';
import { count, interruption } from '../../support/command.js';
import { stopStores } from '../../support/stores.js';
import { everything } from '../../support/valid-input.js';
import { startWorld } from '../../support/world.js';
import { heapGrowth, sendMalformed } from './run.js';

const options = new Command('malformed')
  .description('Sends malformed requests')
  .option('--requests <number>', 'how many', count, 200_000)
  .option('--seed <number>', 'of the sequence', count, 20_400_102)
  .parse()
  .opts<{ requests: number; seed: number }>();

const interrupted = interruption();
const bar = new cliProgress.SingleBar({ format: '{bar} {percentage}% {value} of {total} requests, {eta_formatted} left' });
const world = await startWorld({ config: configText(everything) });
try {
  bar.start(options.requests, 0);
  const report = await sendMalformed(world, options.requests, options.seed, ({ requests }) => {
    interrupted.throwIfAborted();
    bar.update(requests);
  });
  bar.stop();
  const grown = heapGrowth(report.heap);
  const { faults, heap, ...figures } = report;
  console.log({
    ...figures,
    rounds: heap.length,
    heapMB: heap.filter((_, at) => at % Math.ceil(heap.length / 12) === 0).map((bytes) => Math.round(bytes / 1e6)),
  });
  console.log(`Heap after garbage collection, last third against the third before: ${((grown - 1) * 100).toFixed(1)} %`);
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 || grown > 1.1 ? 1 : 0;
} finally {
  bar.stop();
  await world.stop();
  await stopStores();
}
