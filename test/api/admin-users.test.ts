import { expect } from 'chai';
import { configText, read, readProfile, userPath, type Profile } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const config = { attributes: [{ key: 'city', name: 'City', type: 'user' }], metrics: [{ key: 'm', name: 'M' }] };

describe('The list of users', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
    const users: readonly (readonly [id: string, body: object])[] = [
      ['ana', { name: 'Ana Luísa Silva', email: 'ana.silva@example.com', tz: 'Europe/Lisbon', attributes: { city: 'Lisbon' } }],
      ['Ben', { name: "Ben O'Neill", email: 'Ben@Example.org', deviceTokens: ['t1'] }],
      ['cy%_\\', { name: 'Cy Silvester-Ana' }],
      ['cz', {}],
      ['é', { name: '  ' }],
      ['user-10', { name: 'Ten' }],
      ['user-9', { name: 'Nine' }],
      ['w-1', { name: 'Élodie ΣΊΣΥΦΟΣ', email: 'Ü@Example.org' }],
      ['w-2', { name: 'Team P-8A AC/DC' }],
      ['w-3', { name: 'ella@example.com 3.14 www.host.org/path 🔥<b>x</b>' }],
    ];
    for (const [id, body] of users) expect((await world.request('PUT', userPath(id), { body })).status).to.equal(200);
  });
  after(() => world.stop());

  const list = (query: string): Promise<Profile[]> => read<Profile[]>(world, `/admin/v1/users${query}`);
  const ids = async (query: string): Promise<string[]> => (await list(query)).map(({ id }) => id);

  it('is sorted by id, byte by byte, and paged', async () => {
    const all = ['Ben', 'ana', 'cy%_\\', 'cz', 'user-10', 'user-9', 'w-1', 'w-2', 'w-3', 'é'];
    expect(await ids('')).to.deep.equal(all);
    expect(await ids('?limit=3')).to.deep.equal(all.slice(0, 3));
    expect(await ids('?limit=3&skip=5')).to.deep.equal(all.slice(5, 8));
    expect(await ids('?skip=10')).to.deep.equal([]);
  });

  it('shows each user as a read of the user does', async () => {
    for (const user of await list('')) {
      expect(user).to.deep.equal(await readProfile(world, user.id));
      expect(user).to.deep.equal(await read(world, `/admin/v1/users/${encodeURIComponent(user.id)}`));
    }
  });

  const searches: readonly (readonly [search: string, found: readonly string[]])[] = [
    ['an', ['ana', 'cy%_\\']],
    ['ana', ['ana', 'cy%_\\']],
    ['user-', ['user-10', 'user-9']],
    ['User-', []],
    ['silv', ['ana', 'cy%_\\']],
    ['luísa', ['ana']],
    ['sil an', ['ana', 'cy%_\\']],
    ['ana.silva@', ['ana']],
    ['ANA.SILVA@EXAMPLE', ['ana']],
    ['ben@example.org', ['Ben']],
    ["o'neill", ['Ben']],
    ["o'n", ['Ben']],
    ['silva@', []],
    ['%', []],
    ['cy%_\\', ['cy%_\\']],
    ['user_1', []],
    ['é', ['w-1', 'é']],
    ["'", ['Ben']],
    ["\\' | ana:*", []],
    ['ten & nine', []],
    ['nobody', []],
    ['élo', ['w-1']],
    ['E\u0301LO σίς', ['w-1']],
    ['elo', []],
    ['ü@', ['w-1']],
    ['ü@EXAMPLE.O', ['w-1']],
    ['Team P-8', ['w-2']],
    ['ac/d', ['w-2']],
    ['a_', []],
    ['ella@ex', ['w-3']],
    ['3.1', ['w-3']],
    ['www.ho', ['w-3']],
    ['host.org/p', ['w-3']],
    ['🔥', ['w-3']],
    ['<b>', ['w-3']],
  ];
  for (const [search, found] of searches) {
    it(`finds ${JSON.stringify(found)} for ${JSON.stringify(search)}`, async () => {
      expect(await ids(`?search=${encodeURIComponent(search)}`)).to.deep.equal(found);
    });
  }

  it('pages the users that a search finds', async () => {
    expect(await ids('?search=user&limit=1')).to.deep.equal(['user-10']);
    expect(await ids('?search=user&limit=1&skip=1')).to.deep.equal(['user-9']);
    expect(await ids('?search=user&limit=2&skip=1')).to.deep.equal(['user-9']);
    expect(await ids('?search=user&skip=5000')).to.deep.equal([]);
  });

  it('contains a new user at once', async () => {
    for (let i = 0; i < 20; i += 1) {
      await world.event('m', { user: { id: `now-${i}`, name: `Now${i}` }, value: 1 });
      expect(await ids(`?search=now-${i}`)).to.deep.equal([`now-${i}`]);
    }
  });

  it('refuses invalid pages and searches', async () => {
    const queries = [
      'limit=0',
      'limit=101',
      'limit=x',
      'limit=1.5',
      'skip=-1',
      'skip=x',
      'skip=1000001',
      'search=',
      `search=${'x'.repeat(1_001)}`,
    ];
    for (const query of [...queries, 'search=%00', 'limit=1&limit=2']) {
      const reply = await world.get(`/admin/v1/users?${query}`);
      expect(reply.status, query).to.equal(422);
      expect((reply.body as { error: string }).error, query).to.be.a('string');
    }
  });

  it('returns 404 for an unknown user', async () => {
    expect((await world.get('/admin/v1/users/nobody')).status).to.equal(404);
  });

  it('finds the rows of a user in every table by an index', async () => {
    const { rows } = await world.pool.query<{ name: string }>(
      `select relname as name from pg_class
        where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
          and (select count(*) from pg_attribute where attrelid = pg_class.oid and attname in ('tenant', 'user_id')) = 2
          and not exists (
            select 1 from pg_index where indrelid = pg_class.oid and (
              select array_agg(attname::text order by n) from unnest(indkey[0:1]) with ordinality as key (attnum, n)
                join pg_attribute on attrelid = indrelid and pg_attribute.attnum = key.attnum) = array['tenant', 'user_id'])`,
    );
    expect(rows).to.deep.equal([]);
  });
});
