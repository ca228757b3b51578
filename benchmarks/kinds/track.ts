import { eventSequence, seed } from '../load/events.js';
import { defineKind } from '../runner/kind.js';
import { httpFigures, HttpSides } from '../servers/subject.js';
import { withStacks } from '../servers/stack.js';

const full = 'full load';
const half = 'half load';
const requests = () => eventSequence(seed);

export const track = defineKind({
  name: 'track',
  summary: 'events a second over HTTP, in turn with a bare server that does no work of its own',
  options: {
    rounds: { text: 'rounds of each side that count', value: 3, tiny: 1 },
    seconds: { text: 'length of a round', value: 6, tiny: 0.3 },
    connections: { text: 'connections that send at the same time', value: 64, tiny: 8 },
  },
  figures: httpFigures,
  targets: [
    { title: 'events/s ÷ bare server', unit: '', atLeast: 0.45, of: (all) => all.ratio(full, 'ratePerS', 'floor') },
    {
      title: "CPU of the API processes an event ÷ bare server's a request",
      unit: '',
      atMost: 1.7,
      of: (all) => all.ratio(full, 'apiCpuUs', 'floor'),
    },
    { title: 'events/s ÷ the other checkout', unit: '', atLeast: 2.5, of: (all) => all.ratio(full, 'ratePerS', 'theirs') },
    { title: 'p99 of events at half load', unit: 'ms', atMost: 10, of: (all) => all.median(half, 'p99Ms') },
  ],
  run: (bench) =>
    withStacks(bench, async (stacks) => {
      const servers = [];
      for (const stack of stacks) servers.push(await stack.serve());
      const sides = await HttpSides.start(bench, stacks, servers);
      const loading = { connections: bench.option('connections'), seconds: bench.option('seconds') };
      const how = { rounds: bench.option('rounds'), warmUps: bench.isTiny ? 0 : 1 };
      const stands = sides.stands({ name: full, requests, floorRequests: requests }, loading);
      await bench.rounds(stands, how);
      const fresh = () => eventSequence(seed, { name: 'half' });
      const rateOf = (side: string): number => bench.median(full, side, 'ratePerS') / 2;
      await bench.rounds(sides.stands({ name: half, requests: fresh, floorRequests: fresh }, loading, rateOf), { rounds: how.rounds });
    }),
});
