import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { limits } from '../../src/shared/limits.js';
import { answer, bodyOf, configText, read } from '../support/answers.js';
import type { Version } from '../support/configuration-version.js';
import { tenantForEachTest } from '../support/suites.js';
import { type World } from '../support/world.js';

const base = '/admin/v1/configuration';
const example = readFileSync(new URL('../../examples/study-app.yaml', import.meta.url), 'utf8');
const cards = { metrics: [{ key: 'cards', name: 'Cards' }] };
const both = { metrics: [...cards.metrics, { key: 'pages', name: 'Pages' }] };

interface Problem {
  readonly message: string;
  readonly path: readonly (string | number)[] | null;
  readonly line: number | null;
  readonly column: number | null;
}
interface DryRun {
  readonly version: number;
  readonly changes: readonly { readonly action: string; readonly kind: string; readonly key?: string }[];
  readonly lines: readonly string[];
  readonly kept: readonly string[];
  readonly effects: readonly unknown[];
  readonly problems: readonly Problem[];
}
type Applied = Pick<DryRun, 'version' | 'changes' | 'lines' | 'kept'>;
describe('The configuration over HTTP', () => {
  let world: World;
  tenantForEachTest({ config: configText(cards) }, (tenant) => (world = tenant));

  const dryRun = async (body: object): Promise<DryRun> => bodyOf(await world.request('POST', `${base}/dry-run`, { body }), 200);
  const apply = async (body: object): Promise<Applied> => bodyOf(await world.request('POST', `${base}/apply`, { body }), 200);
  const versions = (query = ''): Promise<Version[]> => read(world, `${base}/versions${query}`);
  /** All that a change of the configuration would change. */
  const state = async (): Promise<unknown> => [
    (await world.pool.query('select version, document from config_versions where tenant = $1 order by version', [world.tenant])).rows,
    await world.ledgerEnd(),
  ];
  const current = (): Promise<Version> => read(world, base);

  describe('in a dry run', () => {
    it('shows what would change in the words of laurel apply, and changes nothing', async () => {
      const before = await state();
      const { effects: _, ...shown } = await dryRun({ file: 'metrics: [{key: pages, name: Pages}]' });
      expect(shown).to.deep.equal({
        version: 1,
        changes: [{ action: 'add', kind: 'metric', key: 'pages', within: null, fields: [] }],
        lines: ['+ metric pages'],
        kept: ['metric cards'],
        problems: [],
      });
      expect((await dryRun({ file: both, prune: true })).lines).to.deep.equal(['+ metric pages']);
      expect((await dryRun({ file: { metrics: [] }, prune: true })).lines).to.deep.equal(['- metric cards']);
      expect(await state()).to.deep.equal(before);
    });

    it('shows no change of the file that it has', async () => {
      const { file } = await current();
      expect(await dryRun({ file, prune: true })).to.deep.equal({
        version: 1,
        changes: [],
        lines: [],
        kept: [],
        effects: [],
        problems: [],
      });
    });

    const badText =
      'metrics:\n  - key: cards\n    name: Cards\n    unit: cards\npoints:\n  - key: xp\n    name: XP\n    levels:\n      - {key: a, name: A, points: x}\n';
    it('locates each problem in the text', async () => {
      const shown = await dryRun({ file: badText });
      expect(shown.problems).to.deep.equal([
        {
          message: 'metric "cards": unknown field "unit" (allowed: key, name, unitType, units)',
          path: ['metrics', 0, 'unit'],
          line: 4,
          column: 5,
        },
        {
          message: 'level "a": points must be a whole number from 0 to 1,000,000,000,000,000, not "x"',
          path: ['points', 0, 'levels', 0, 'points'],
          line: 9,
          column: 35,
        },
      ]);
      expect(shown).to.deep.include({ version: 1, changes: [], lines: [], kept: [], effects: [] });
    });

    for (const [what, file, path, message] of [
      ['a value', parse(badText) as object, ['points', 0, 'levels', 0, 'points'], /^level "a": points must be/],
      ['an unknown field', parse(badText) as object, ['metrics', 0, 'unit'], /^metric "cards": unknown field "unit"/],
      ['an unknown part', { metric: [] }, ['metric'], /unknown field "metric"/],
      [
        'a reference',
        { streaks: { enabled: true, metrics: [{ metricKey: 'x', threshold: 1 }] } },
        ['streaks', 'metrics', 0, 'metricKey'],
        /there is no metric "x"/,
      ],
      [
        'a rule between fields',
        { points: [{ key: 'p', name: 'P', maxPoints: 5, levels: [{ key: 'a', name: 'A', points: 9 }] }] },
        ['points', 0, 'levels', 0, 'points'],
        /cannot be reached/,
      ],
      ['the same key twice', { metrics: [...cards.metrics, ...cards.metrics] }, ['metrics', 1, 'key'], /^metric "cards": duplicate key$/],
    ] as const) {
      it(`names the path to ${what} of an object`, async () => {
        const { problems } = await dryRun({ file });
        const found = problems.find((problem) => message.test(problem.message));
        expect(found, JSON.stringify(problems)).to.deep.include({ path, line: null, column: null });
      });
    }

    it('takes a file without discernible objects', async () => {
      for (const [file, message] of [
        ['', 'the file is empty'],
        ['metrics: [', /invalid YAML/],
        ['- metrics', 'the file must be a map of fields, not a list'],
        ['x'.repeat(limits.maxConfigFileBytes + 1), `the file is larger than ${limits.maxConfigFileBytes} bytes`],
      ] as const) {
        const { problems } = await dryRun({ file });
        if (typeof message === 'string') expect(problems[0]?.message).to.equal(message);
        else expect(problems[0]?.message).to.match(message);
      }
    });

    it('refuses values that are nested without end', async () => {
      const raw = `{"file":{"metrics":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
      const { problems } = bodyOf<DryRun>(await world.request('POST', `${base}/dry-run`, { raw }), 200);
      expect(problems.map(({ message }) => message)).to.deep.equal(['objects and lists are nested more than 32 levels deep']);
    });
  });

  describe('when it is applied', () => {
    it('makes one version for each change, and none without one', async () => {
      expect(await apply({ file: both })).to.deep.equal({
        version: 2,
        changes: [{ action: 'add', kind: 'metric', key: 'pages', within: null, fields: [] }],
        lines: ['+ metric pages'],
        kept: [],
      });
      expect((await apply({ file: both })).version).to.equal(2);
      expect((await apply({ file: configText(both), version: 2 })).version).to.equal(2);
      expect((await versions()).map(({ version }) => version)).to.deep.equal([2, 1]);
    });

    it('applies to the next event', async () => {
      expect((await world.event('pages', { user: { id: 'ana' }, value: 1 })).status).to.equal(404);
      await apply({ file: both });
      expect((await world.event('pages', { user: { id: 'ana' }, value: 1 })).status).to.equal(201);
    });

    for (const [what, body, status, error] of [
      [
        'a file with problems',
        { file: 'metrics: [{key: a b, name: A}, {key: c}]' },
        422,
        'Line 1, column 17: metric "a b": key must be one or more letters, digits, - and _, not "a b"; line 1, column 32: metric "c": name is missing.',
      ],
      ['an object with problems', { file: { metrics: [{ key: 'c' }] } }, 422, 'Metric "c": name is missing.'],
      [
        'a reference to what it prunes',
        { file: { streaks: { metrics: [{ metricKey: 'cards', threshold: 1 }] } }, prune: true },
        422,
        'Streaks: metric "cards" is not in the file, so --prune would archive it.',
      ],
      ['no file', {}, 422, '`file` must be the YAML text of a file, or its contents as an object.'],
      ['a file that is a list', { file: [] }, 422, '`file` must be the YAML text of a file, or its contents as an object.'],
      ['a version that is no number', { file: cards, version: 'newest' }, 422, '`version` must be a number.'],
      ['prune that is no boolean', { file: cards, prune: 'yes' }, 422, '`prune` must be a boolean.'],
      [
        'an earlier version',
        { file: both, version: 0 },
        409,
        'The configuration is at version 1, and the change is based on version 0: read the newest version and change that.',
      ],
      [
        'a version to come',
        { file: both, version: 2 },
        409,
        'The configuration is at version 1, and the change is based on version 2: read the newest version and change that.',
      ],
    ] as const) {
      it(`refuses ${what}, and changes nothing`, async () => {
        const before = await state();
        expect(answer(await world.request('POST', `${base}/apply`, { body }))).to.deep.equal([status, { error }]);
        expect(await state()).to.deep.equal(before);
      });
    }

    it('accepts one of two changes of the same version', async () => {
      const files = ['a', 'b', 'c', 'd'].map((key) => ({ metrics: [{ key, name: key }] }));
      const replies = await Promise.all(files.map((file) => world.request('POST', `${base}/apply`, { body: { file, version: 1 } })));
      expect(replies.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409]);
      expect((await current()).version).to.equal(2);
    });

    it('loses none of concurrent changes without a version', async () => {
      const keys = ['a', 'b', 'c', 'd'];
      await Promise.all(keys.map((key) => apply({ file: { metrics: [{ key, name: key }] } })));
      const { version, file } = await current();
      expect(version).to.equal(1 + keys.length);
      expect((file as typeof cards).metrics.map(({ key }) => key)).to.have.members([...keys, 'cards']);
    });
  });

  it('is exported as the YAML text and as the object that apply takes', async () => {
    await apply({ file: example });
    const text = bodyOf<string>(await world.get(`${base}/file`), 200);
    expect(parse(text)).to.deep.equal((await current()).file);
    for (const file of [text, (await current()).file]) expect((await dryRun({ file, prune: true })).lines).to.deep.equal([]);
  });

  it('has no secret of a webhook in any of its forms', async () => {
    const webhook = { name: 'Hook', url: 'https://example.com/hook', events: ['points.changed'] };
    const [made] = bodyOf<{ created: { secret: string }[] }>(
      await world.request('POST', '/admin/v1/webhooks', { body: [webhook] }),
      201,
    ).created;
    const secret = made?.secret ?? '';
    expect(secret).to.have.length.greaterThan(16);
    for (const path of ['', '/file', '/versions', '/versions/2']) {
      const reply = await world.get(base + path);
      expect(JSON.stringify(reply.body)).to.include('hook').and.not.include(secret);
    }
  });

  it('has a schema', async () => {
    expect(await read(world, `${base}/schema`)).to.deep.include({ title: 'Laurel configuration', type: 'object' });
  });
});
