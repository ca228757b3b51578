import { seed, userSequence } from '../load/events.js';
import { fill } from '../load/fill.js';
import type { LoadRequest } from '../load/load.js';
import type { Summaries } from '../measure/summary.js';
import { defineKind, type Target } from '../runner/kind.js';
import type { RunningProcess } from '../servers/children.js';
import { withStacks } from '../servers/stack.js';
import { httpFigures, HttpSides } from '../servers/subject.js';
import { reads } from './reads.js';

const halfOf = (name: string): string => `${name}, half load`;
const largestOf = (values: readonly (number | undefined)[]): number | undefined => {
  const measured = values.filter((value) => value !== undefined);
  return measured.length === 0 ? undefined : Math.max(...measured);
};

const targets: readonly Target[] = [
  ...reads.map(({ name, atLeast }) => ({
    ...{ title: `${name}: requests/s ÷ bare server`, unit: '', atLeast },
    of: (all: Summaries) => all.ratio(name, 'ratePerS', 'floor'),
  })),
  {
    ...{ title: 'p99 of reads at half load, the slowest', unit: 'ms', atMost: 5 },
    of: (all) => largestOf(reads.map(({ name }) => all.median(halfOf(name), 'p99Ms'))),
  },
];

const get = (path: string): LoadRequest => ({ method: 'GET', path });

export const read = defineKind({
  name: 'read',
  summary: 'reads a second over HTTP, each in turn with a bare server that reads a stored string of the same size by a function',
  options: {
    rounds: { text: 'rounds of each side that count', value: 3, tiny: 1 },
    seconds: { text: 'length of a round', value: 2, tiny: 0.3 },
    connections: { text: 'connections that read at the same time', value: 64, tiny: 8 },
    events: { text: 'events of 1,000 users that are sent before', value: 20_000, tiny: 1_000 },
  },
  figures: httpFigures,
  targets,
  run: (bench) =>
    withStacks(bench, async (stacks) => {
      const servers: RunningProcess[] = [];
      for (const stack of stacks) {
        const server = await stack.serve();
        await fill(stack, { url: server.readyText, events: bench.option('events'), sequence: { isInTurn: true }, signal: bench.signal });
        servers.push(server);
      }
      const sides = await HttpSides.start(bench, stacks, servers);
      const loading = { connections: bench.option('connections'), seconds: bench.option('seconds') };
      const rounds = bench.option('rounds');
      for (const { name, path } of reads) {
        const requests = () => {
          const user = userSequence(seed);
          return () => get(path(user()));
        };
        const floorRequests = () => () => get('/stored');
        await bench.rounds(sides.stands({ name, requests, floorRequests }, loading), { rounds, warmUps: bench.isTiny ? 0 : 1 });
        const rateOf = (side: string): number => bench.median(name, side, 'ratePerS') / 2;
        await bench.rounds(sides.stands({ name: halfOf(name), requests, floorRequests }, loading, rateOf), { rounds });
      }
    }),
});
