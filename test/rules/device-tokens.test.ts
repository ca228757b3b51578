import { expect } from 'chai';
import { removeDeviceToken } from '../../src/engine/users.js';
import { readProfile, userPath } from '../support/answers.js';
import { differences } from '../support/differences.js';
import { startWorld, type World } from '../support/world.js';

describe('A device token that its provider no longer accepts', () => {
  const odd = 'a/b "é" \\/ ExponentPushToken[x]';
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  const identify = (id: string, deviceTokens: readonly string[] | null): Promise<unknown> =>
    world.request('PUT', userPath(id), { body: { name: id, deviceTokens } });
  const remove = (id: string, token: string): Promise<boolean> => removeDeviceToken(world.engine, world.tenant, id, token);

  const rows: readonly (readonly [what: string, before: string[] | null, token: string, after: string[] | null])[] = [
    ['the first of two', ['one', 'two'], 'one', ['two']],
    ['the last one', ['one'], 'one', []],
    ['one that is listed twice', ['one', 'two', 'one'], 'one', ['two']],
    ['one beside odd characters', ['one', odd], 'one', [odd]],
    ['one with odd characters', ['one', odd], odd, ['one']],
    ['one that the user does not have', ['one'], 'two', ['one']],
    ['one of a user without tokens', null, 'one', null],
  ];
  for (const [what, before, token, after] of rows) {
    it(`is removed from the user: ${what}`, async () => {
      const id = what;
      await identify(id, before);
      await world.setClock(new Date(Date.parse((await readProfile(world, id)).updated) + 60_000).toISOString());
      const earlier = await readProfile(world, id);
      const end = await world.ledgerEnd();
      const isChanged = JSON.stringify(before) !== JSON.stringify(after);
      expect(await remove(id, token)).to.equal(isChanged);
      const { updated, ...later } = await readProfile(world, id);
      expect(later).to.deep.equal({ ...later, deviceTokens: after });
      expect(updated > earlier.updated, 'updated moves').to.equal(isChanged);
      expect((await world.ledgerEnd()) !== end, 'in the ledger').to.equal(isChanged);
      await world.drain();
      const { rows: stored } = await world.pool.query<{ tokens: string[] | null }>(
        'select device_tokens as tokens from users where id = $1',
        [id],
      );
      expect(stored[0]?.tokens).to.deep.equal(after);
    });
  }

  it('is removed without creating an unknown user', async () => {
    const end = await world.ledgerEnd();
    expect(await remove('unknown', 'one')).to.equal(false);
    expect(await world.ledgerEnd()).to.equal(end);
    expect((await world.get(userPath('unknown'))).status).to.equal(404);
  });

  it('takes no token along that is added at the same time', async () => {
    await identify('busy', ['dead', 'old']);
    const tokens = ['dead', 'old', ...Array.from({ length: 20 }, (_, i) => `new ${i}`)];
    await Promise.all([identify('busy', tokens), ...Array.from({ length: 5 }, () => remove('busy', 'dead')), identify('busy', tokens)]);
    await remove('busy', 'dead');
    expect((await readProfile(world, 'busy')).deviceTokens).to.deep.equal(tokens.slice(1));
  });

  it('is gone from Redis and Postgres alike', async () => {
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });
});
