import { readFileSync } from 'node:fs';
import { TrophyApiEnvironment } from '@trophyso/node';
import { expect } from 'chai';
import { bodyOf, readBoard, readPoints, read, until } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const text = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const guide = text('../../docs/moving-from-trophy.md');
const blocks = (language: string): string[] =>
  Array.from(guide.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms')), ([, block = '']) => block);

describe('docs/moving-from-trophy.md', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: 'settings: {}' });
  });
  after(() => world.stop());

  it('names the addresses and the version of the client library that the tests call', () => {
    const { version } = JSON.parse(text('../../node_modules/@trophyso/node/package.json')) as { version: string };
    expect(guide).to.include(`\`@trophyso/node\` with an Admin API, ${version} among them`);
    const { api, admin } = TrophyApiEnvironment.Production;
    for (const address of [api, admin]) expect(guide).to.include(address);
  });

  it('imports totals and points exactly, sends no webhooks, and continues from there', async () => {
    const [final = '', importing = ''] = blocks('yaml');
    const [batch = ''] = blocks('json');
    await world.configure(importing);
    for (const accepted of [2, 2]) {
      const reply = await world.request('POST', '/admin/v1/metrics/events', { body: JSON.parse(batch) });
      expect(bodyOf(reply, 202)).to.deep.equal({ accepted, issues: [] });
    }
    await world.configure(final, { prune: true });
    await until('the board is filled', async () => (await readBoard(world, 'all-time')).length > 0);
    expect(await readBoard(world, 'all-time')).to.deep.equal(['1 18 2750']);
    expect(await readPoints(world, '18', 'xp')).to.deep.include({ total: 320 });
    const done = async (): Promise<string[]> => (await read<{ key: string }[]>(world, '/v1/users/18/achievements')).map(({ key }) => key);
    await until('the achievement is there', async () => (await done()).length > 0);
    expect(await done()).to.deep.equal(['first-thousand']);
    expect((await world.event('words-written', { user: { id: '18' }, value: 100 })).status).to.equal(201);
    expect((await readPoints(world, '18', 'xp')).total).to.equal(330);
    await world.drain();
    const { rows } = await world.pool.query<{ count: number }>(`select count(*)::int from deliveries`);
    expect(rows[0]?.count).to.equal(0);
  });
});
