import { expect } from 'chai';
import { answer, bodyOf, configText, read } from '../support/answers.js';
import type { Version } from '../support/configuration-version.js';
import { tenantForEachTest } from '../support/suites.js';
import { defaultNow, startWorld, type World } from '../support/world.js';

const base = '/admin/v1/configuration';
const cards = { metrics: [{ key: 'cards', name: 'Cards' }] };
const both = { metrics: [...cards.metrics, { key: 'pages', name: 'Pages' }] };

describe('The versions of a configuration', () => {
  let host: World;
  let world: World;
  tenantForEachTest({ config: configText(cards) }, (...worlds) => ([world, host] = worlds));

  const apply = async (body: object): Promise<{ lines: string[] }> => bodyOf(await world.request('POST', `${base}/apply`, { body }), 200);
  const versions = (query = ''): Promise<Version[]> => read(world, `${base}/versions${query}`);
  const current = (): Promise<Version> => read(world, base);

  it('have what each changed, by whom and when', async () => {
    await apply({ file: both });
    await world.request('PATCH', '/admin/v1/settings', { body: { weekStart: 'sunday' } });
    const [third, second, first] = await versions();
    const author = { kind: 'key', name: 'First key', prefix: 'test' };
    expect(third).to.deep.include({ version: 3, lines: ['~ settings: weekStart "monday" -> "sunday"'], changes: 1 });
    expect(third?.author).to.deep.include(author);
    expect(second?.author).to.deep.include(author);
    expect(first?.author).to.deep.equal({ kind: 'command', name: 'laurel apply', keyId: null, prefix: null });
    expect(await versions('?limit=1&skip=1')).to.deep.equal([second]);
    expect(await versions('?skip=3')).to.deep.equal([]);
    expect((await current()).author).to.deep.equal(third?.author);
    // On the test clock, as everything else.
    expect([third, second].map((version) => version?.created)).to.deep.equal([defaultNow, defaultNow]);
  });

  it('are compared with the one before or any other, in both directions', async () => {
    await apply({ file: both });
    await apply({
      file: {
        metrics: [
          { key: 'cards', name: 'Flashcards' },
          { key: 'pages', name: 'Pages' },
        ],
      },
    });
    const linesOf = async (query: string): Promise<readonly string[]> => (await read<Version>(world, `${base}/versions/${query}`)).lines;
    expect(await linesOf('3')).to.deep.equal(['~ metric cards: name "Cards" -> "Flashcards"']);
    expect(await linesOf('3?against=1')).to.deep.equal(['~ metric cards: name "Cards" -> "Flashcards"', '+ metric pages']);
    expect(await linesOf('1?against=3')).to.deep.equal(['- metric pages', '~ metric cards: name "Flashcards" -> "Cards"']);
    expect(await linesOf('1')).to.deep.equal(['+ metric cards']);
    expect(await linesOf('0')).to.deep.equal([]);
  });

  it('can be gone back to', async () => {
    const { file } = await read<Version>(world, `${base}/versions/1`);
    await apply({ file: { ...both, settings: { weekStart: 'sunday' } } });
    expect((await apply({ file, prune: true })).lines).to.deep.equal(['~ settings: weekStart "sunday" -> "monday"', '- metric pages']);
    expect((await current()).file).to.deep.equal(file);
  });

  it('name the key that deleted a user and that user’s boosts', async () => {
    const boost = { key: 'b', name: 'B', start: '2040-01-01', multiplier: 2, userId: 'ana' };
    await apply({ file: { points: [{ key: 'xp', name: 'XP', boosts: [boost] }] } });
    bodyOf(await world.request('DELETE', '/admin/v1/users/ana'), 200);
    const [newest] = await versions();
    // The boosts have gone from the versions before, too.
    expect(newest).to.deep.include({ version: 3, changes: 0, lines: [] });
    expect(newest?.author).to.deep.include({ kind: 'key', prefix: 'test' });
  });

  it('keep the name of a key that has been deleted since', async () => {
    const [made] = bodyOf<{ created: { id: string; key: string; prefix: string }[] }>(
      await host.request('POST', '/admin/v1/admin-api-keys', { body: [{ name: 'Release tool' }] }),
      201,
    ).created;
    if (!made) throw new Error('no key');
    bodyOf(await world.request('POST', `${base}/apply`, { body: { file: both }, key: made.key }), 200);
    await host.request('DELETE', `/admin/v1/admin-api-keys?ids=${made.id}`);
    expect((await current()).author).to.deep.equal({ kind: 'key', name: 'Release tool', keyId: made.id, prefix: made.prefix });
  });

  for (const [path, status, error] of [
    ['versions/9', 404, 'There is no version 9 of the configuration: the list of versions has their numbers.'],
    ['versions/1?against=9', 422, 'There is no version 9 of the configuration: `against` must be one of the list of versions, or 0.'],
    ['versions/first', 422, '`version` must be a whole number from 0 to 2147483647.'],
    ['versions/1?against=-1', 422, '`against` must be a whole number from 0 to 2147483647.'],
    ['versions?limit=51', 422, '`limit` must be a whole number from 1 to 50.'],
  ] as const) {
    it(`are not found, or refused: ${path}`, async () => {
      expect(answer(await world.get(`${base}/${path}`))).to.deep.equal([status, { error }]);
    });
  }
});

describe('The configuration at the first start', () => {
  it('is that of CONFIG, and version 0 is empty', async () => {
    const world = await startWorld({ config: configText(cards), now: null });
    const { author, version } = await read<Version>(world, base);
    expect([version, author]).to.deep.equal([1, { kind: 'start', name: 'CONFIG', keyId: null, prefix: null }]);
    const zero = await read<Version>(world, `${base}/versions/0`);
    expect(zero).to.deep.include({ version: 0, created: null, author: null });
    await world.stop();
  });
});
