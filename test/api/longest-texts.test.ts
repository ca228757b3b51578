import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import type { Rankings } from '../support/answers.js';
import { differences } from '../support/differences.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  attributes: [
    { key: 'team', name: 'Team', type: 'user' },
    { key: 'town', name: 'Town', type: 'user' },
    { key: 'device', name: 'Device', type: 'event' },
  ],
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: [
    { key: 'by-team', name: 'By team', status: 'active', rankBy: 'metric', metricKey: 'm', breakdownAttributes: ['team'] },
    { key: 'by-both', name: 'By both', status: 'active', rankBy: 'metric', metricKey: 'm', breakdownAttributes: ['team', 'town'] },
    {
      key: 'days',
      name: 'Days',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'm',
      breakdownAttributes: ['team'],
      start: '2040-01-01',
      runUnit: 'day',
      runInterval: 1,
    },
  ],
};

/** Different characters of four bytes each, so that nothing gets shorter by being compressed. */
const incompressible = (characters: number, seed: number): string =>
  Array.from({ length: characters }, (_, i) => String.fromCodePoint(0x20000 + ((seed + i * 7919) % 40_000))).join('');

describe('The longest texts that callers may send', () => {
  let world: World;

  before(async () => {
    world = await startWorld({ config: JSON.stringify(config) });
  });
  after(() => world.stop());

  const longest = (seed: number): Record<'team' | 'town', string> => ({
    team: incompressible(limits.maxTextChars, seed),
    town: incompressible(limits.maxTextChars, seed + 1),
  });

  async function send(user: Readonly<Record<string, unknown>>, value: number): Promise<void> {
    const idempotencyKey = incompressible(limits.maxIdChars, value);
    const body = [{ key: 'm', user, value, attributes: { device: incompressible(limits.maxTextChars, 5) }, idempotencyKey }];
    expect((await world.request('POST', '/admin/v1/metrics/events', { body })).status).to.equal(202);
    await world.drain();
  }

  it('reach Postgres: none is too long for an index', async () => {
    const id = incompressible(limits.maxIdChars, 1);
    const name = incompressible(limits.maxTextChars, 2);
    await send({ id, name, email: incompressible(limits.maxEmailChars, 3), attributes: longest(10) }, 1);
    await send({ id, attributes: longest(20) }, 2);
    const { rows } = await world.pool.query<{ reason: string }>('select reason from dead_letters');
    expect(rows).to.deep.equal([]);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('make a group by their starts, which a read with the whole value finds', async () => {
    const { team } = longest(30);
    await send({ id: 'ana', attributes: { team: `${team.slice(0, -2)}x` } }, 3);
    await send({ id: 'ben', attributes: { team: `${team.slice(0, -2)}y` } }, 4);
    await send({ id: 'cem', attributes: { team: incompressible(limits.maxTextChars, 31) } }, 5);
    const reply = await world.get(`/v1/leaderboards/by-team?userAttributes=${encodeURIComponent(`team:${team}`)}`);
    expect((reply.body as Rankings).rankings.map(({ userId }) => userId)).to.deep.equal(['ben', 'ana']);
  });
});
