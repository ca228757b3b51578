import { availableParallelism } from 'node:os';
import { eventSequence, seed } from '../load/events.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import { defineKind } from '../runner/kind.js';
import { withStacks, type Stack } from '../servers/stack.js';
import { httpFigures, laurelSubject, measureSubject } from '../servers/subject.js';

const nameOf = (processes: number): string => `${processes} API ${processes === 1 ? 'process' : 'processes'}`;

export const processes = defineKind({
  name: 'processes',
  summary: 'events a second with 1, 2, … API processes beside the worker, up to the number of cores',
  options: {
    rounds: { text: 'rounds of each number that count', value: 3, tiny: 1 },
    seconds: { text: 'length of a round', value: 5, tiny: 0.3 },
    connections: { text: 'connections that send at the same time', value: 64, tiny: 8 },
    most: { text: 'the most API processes', value: availableParallelism(), tiny: 2 },
  },
  figures: httpFigures,
  targets: [],
  run: (bench) =>
    withStacks(bench, async (stacks) => {
      const numbers = Array.from({ length: bench.option('most') }, (_, i) => i + 1);
      const stand = (stack: Stack, number: number): Stand<Figures> => ({
        ...{ case: nameOf(number), side: stack.side },
        // Each round starts its own service, which is warmed up first: two at the same time would both confirm their Redis and poll the ledger.
        measure: async (round) => {
          const server = await stack.serve({ env: { API_PROCESSES: String(number) } });
          try {
            const subject = laurelSubject(stack, server, bench.signal);
            const loading = { connections: bench.option('connections'), seconds: bench.option('seconds') };
            const warmUp = eventSequence(seed, { name: `warm-${number}-${round}` });
            await measureSubject(subject, { ...loading, seconds: loading.seconds / 2, next: warmUp }, bench.signal);
            const next = eventSequence(seed, { name: `processes-${number}-${round}` });
            const { result, figures } = await measureSubject(subject, { ...loading, next }, bench.signal);
            bench.fail(result.failed);
            return figures;
          } finally {
            await stack.processes.stop();
          }
        },
      });
      const stands = numbers.flatMap((number) => stacks.map((stack) => stand(stack, number)));
      await bench.rounds(stands, { rounds: bench.option('rounds') });
    }),
});
