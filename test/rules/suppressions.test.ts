import { expect } from 'chai';
import { Suppressions, suppressionReasons } from '../../src/messages/addresses/suppressions.js';
import { type TestDatabase, freshDatabase } from '../support/world.js';

describe('A suppressed address', () => {
  let database: TestDatabase;
  let suppressions: Suppressions;
  before(async () => {
    database = await freshDatabase();
    suppressions = new Suppressions(database.pool);
  });
  after(() => database.drop());
  afterEach(() => database.pool.query('truncate suppressions'));

  const same: readonly (readonly [what: string, one: string, other: string])[] = [
    ['letter case of the domain', 'ana@example.com', 'ana@EXAMPLE.com'],
    ['letter case of the mailbox', 'ana@example.com', 'Ana@example.com'],
    ['spaces around it', 'ana@example.com', ' ana@example.com\t'],
    ['a domain in ASCII', 'ana@müller.example', 'ana@xn--mller-kva.example'],
    ['text that is no address', 'No Address', 'no address '],
  ];
  for (const [what, one, other] of same) {
    it(`is found whatever the ${what}`, async () => {
      await suppressions.add(1, one, 'bounced');
      expect(await suppressions.has(1, other)).to.equal(true);
      expect(await suppressions.remove(1, other)).to.equal(true);
      expect(await suppressions.has(1, one)).to.equal(false);
      expect(await suppressions.remove(1, one)).to.equal(false);
    });
  }

  it('is suppressed in its tenant only, and no similar address is', async () => {
    await suppressions.add(1, 'ana@example.com', 'manual');
    expect(await suppressions.has(2, 'ana@example.com')).to.equal(false);
    for (const other of ['ana+x@example.com', 'an.a@example.com', 'ana@example.org', 'ana', '']) {
      expect(await suppressions.has(1, other), other).to.equal(false);
    }
  });

  it('has the newest reason, and the moment of the first', async () => {
    const first = await suppressions.add(1, 'ana@example.com', 'bounced');
    for (const reason of suppressionReasons) {
      expect(await suppressions.add(1, 'ana@example.com', reason)).to.deep.equal({ reason, created: first.created });
      expect(await suppressions.find(1, 'ana@example.com')).to.deep.equal({ reason, created: first.created });
    }
  });

  it('is found among those of a page of users, as it is written there', async () => {
    const all = Array.from({ length: 500 }, (_, i) => `User${i}@Example.com`);
    for (const i of [3, 250, 499]) await suppressions.add(1, `user${i}@example.com`, 'complained');
    await suppressions.add(2, 'user4@example.com', 'complained');
    expect([...(await suppressions.among(database.pool, 1, all))]).to.deep.equal([
      'User3@Example.com',
      'User250@Example.com',
      'User499@Example.com',
    ]);
    expect((await suppressions.among(database.pool, 1, [])).size).to.equal(0);
  });

  it('is stored as a hash with a key of the installation, which all processes share', async () => {
    await suppressions.add(1, 'ana@example.com', 'bounced');
    expect(await new Suppressions(database.pool).has(1, 'ana@example.com')).to.equal(true);
    const { rows } = await database.pool.query<{ address: Buffer }>('select address from suppressions');
    expect(rows.map(({ address }) => address.length)).to.deep.equal([32]);
    const other = await freshDatabase();
    await new Suppressions(other.pool).add(1, 'ana@example.com', 'bounced');
    const { rows: elsewhere } = await other.pool.query<{ address: Buffer }>('select address from suppressions');
    await other.drop();
    expect(elsewhere[0]!.address.equals(rows[0]!.address)).to.equal(false);
  });
});
