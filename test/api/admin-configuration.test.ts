import { expect } from 'chai';
import { nobody, rows, type Ids } from './admin-configuration.cases.js';
import { bodyOf } from '../support/answers.js';
import { Contract } from '../support/contract.js';
import { startHost, startTenant, type Reply, type World } from '../support/world.js';

const base = '/admin/v1';

interface Batch {
  readonly created: readonly Item[];
  readonly updated: readonly Item[];
  readonly deleted: readonly Item[];
  readonly issues: readonly { readonly index: number; readonly id?: string; readonly severity: string; readonly message: string }[];
}
type Item = Readonly<Record<string, unknown>> & { readonly id: string };

describe('The Admin API for', () => {
  let host: World;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());

  for (const [name, row] of Object.entries(rows)) {
    describe(name, () => {
      let world: World;
      let ids: Ids;
      let path: string;
      const contract = new Contract('admin');

      /** Calls, and holds the answer to the contract. */
      async function call(method: string, below = '', body?: unknown): Promise<Reply> {
        const reply = await world.request(method, base + path + below, { body });
        if (row.hosted && reply.status < 300) {
          const template = row.path.replace('{system}', '{systemId}') + (below.startsWith('/') ? '/{id}' : '');
          expect(contract.problems(method, template, reply.status, reply.body)).to.deep.equal([]);
        }
        return reply;
      }
      const create = async (items: readonly object[]): Promise<Batch> => bodyOf(await call('POST', '', items), 201);
      const update = async (items: readonly object[]): Promise<Batch> => bodyOf(await call('PATCH', '', items), 200);
      const list = async (query = '?limit=100'): Promise<Item[]> => bodyOf(await call('GET', query), 200);
      const drop = async (...dropped: string[]): Promise<Batch> =>
        bodyOf(await call('DELETE', `?${dropped.map((id) => `ids=${id}`).join('&')}`), 200);

      before(async () => {
        world = await startTenant(host, { config: 'settings: {}' });
        const made = async (where: string, items: object[]): Promise<string[]> =>
          bodyOf<Batch>(await world.request('POST', base + where, { body: items }), 201).created.map(({ id }) => id);
        const [metric = '', other = ''] = await made('/metrics', [
          { name: 'Cards', key: 'cards' },
          { name: 'Pages', key: 'pages' },
        ]);
        const [city = '', kind = ''] = await made('/attributes', [
          { name: 'City', key: 'city', type: 'user' },
          { name: 'Kind', key: 'kind', type: 'event' },
        ]);
        const [system = ''] = await made('/points', [{ name: 'XP', key: 'xp' }]);
        const [achievement = ''] = await made('/achievements', [{ name: 'Call', trigger: 'api' }]);
        ids = { metric, other, city, kind, system, achievement };
        path = row.path.replace('{system}', system);
      });
      after(() => world.stop());

      it('creates, lists and returns objects as they were sent', async () => {
        const before = await list();
        const wanted = row.create(ids);
        const { created, issues } = await create(wanted.map(([sent]) => sent));
        expect(issues).to.deep.equal([]);
        for (const [index, [sent, shown]] of wanted.entries()) {
          const { levels, boosts, triggers, ...plain } = sent as Record<string, unknown[] | null>;
          const nulls = Object.entries(plain).filter(([, value]) => value === null);
          for (const [field] of nulls) Reflect.deleteProperty(plain, field);
          expect(created[index]).to.deep.include({ ...plain, ...shown });
          for (const [part, items] of Object.entries({ levels, boosts, triggers })) {
            if (items) expect(created[index]?.[part]).to.have.length(items.length);
          }
        }
        const listed = await list();
        expect(listed.map(({ id }) => id)).to.deep.equal([...before, ...created].map(({ id }) => id));
        expect(await list(`?limit=1&skip=${before.length}`)).to.deep.equal(listed.slice(before.length, before.length + 1));
        for (const one of listed) expect(bodyOf(await call('GET', `/${one.id}`), 200)).to.deep.equal(one);
      });

      it('changes what is sent, and nothing else', async () => {
        const made = row.create(ids)[0]?.[0] ?? {};
        const mark = 'name' in made ? 'name' : 'points';
        const first = (await list()).find((one) => one[mark] === Reflect.get(made, mark));
        if (!first) throw new Error('nothing to change');
        for (const [sent, shown] of row.update(ids)) {
          const { updated, issues } = await update([{ id: first.id, ...sent }]);
          expect(issues).to.deep.equal([]);
          for (const [field, value] of Object.entries(shown)) expect(updated[0]?.[field], field).to.deep.equal(value);
          expect(bodyOf(await call('GET', `/${first.id}`), 200)).to.deep.equal(updated[0]);
        }
        expect((await update([{ id: first.id }])).issues).to.deep.equal([]);
        for (const [fields, message] of row.bad(ids)) {
          const before = await list();
          const { updated, issues } = await update([{ id: first.id, ...fields }]);
          expect(updated).to.deep.equal([]);
          expect(issues).to.have.length(1);
          expect(issues[0]?.message).to.match(message);
          expect(await list()).to.deep.equal(before);
        }
      });

      it('applies the valid items of a batch, and reports the others by index', async () => {
        const bad = row.issues(ids);
        const [good] = row
          .create(ids)
          .slice(-1)
          .map(([sent]) => ({
            ...sent,
            ...('key' in sent ? { key: 'fresh' } : {}),
            ...('locale' in sent ? { locale: 'fr' } : {}),
            ...('points' in sent && name === 'levels' ? { points: 30 } : {}),
          }));
        if (!good) throw new Error('nothing good');
        const before = await list();
        const { created, issues } = await create([...bad.map(([item]) => item), good]);
        expect(issues.map(({ index, severity }) => [index, severity])).to.deep.equal(bad.map((_, index) => [index, 'error']));
        for (const [index, [, message]] of bad.entries()) expect(issues[index]?.message).to.match(message);
        expect(created).to.have.length(1);
        expect(await list()).to.have.length(before.length + 1);
        const [one = { id: '' }] = created;
        const changed = await update([{ id: nobody }, { id: one.id }, { id: one.id }]);
        expect(changed.updated.map(({ id }) => id)).to.deep.equal([one.id]);
        expect(changed.issues.map(({ index, id }) => [index, id])).to.deep.equal([
          [0, nobody],
          [2, one.id],
        ]);
        const gone = await drop(nobody, one.id, one.id);
        expect(gone.deleted).to.deep.equal([{ id: one.id }]);
        expect(gone.issues.map(({ index, id }) => [index, id])).to.deep.equal([
          [0, nobody],
          [2, one.id],
        ]);
        expect((await call('GET', `/${one.id}`)).status).to.equal(404);
        expect(await list()).to.deep.equal(before);
      });

      // The generated bad input breaks the rules of the schemas, for every operation. These have sentences of their own.
      for (const [fields, sentence] of row.refused) {
        it(`refuses a whole batch with ${JSON.stringify(fields).slice(0, 50)}`, async () => {
          const before = await list();
          const reply = await call('POST', '', [{ ...row.create(ids)[0]?.[0], ...fields }]);
          expect(reply.status).to.equal(422);
          expect((reply.body as { error: string }).error).to.match(sentence);
          expect(await list()).to.deep.equal(before);
        });
      }

      if (row.path.includes('{system}')) {
        it('returns 404 for an unknown points system', async () => {
          const there = path;
          path = row.path.replace('{system}', nobody);
          const statuses: number[] = [];
          for (const [method, below, body] of [
            ['GET', '', undefined],
            ['GET', `/${nobody}`, undefined],
            ['POST', '', row.create(ids).map(([sent]) => sent)],
            ['PATCH', '', [{ id: nobody }]],
            ['DELETE', `?ids=${nobody}`, undefined],
          ] as const) {
            statuses.push((await call(method, below, body)).status);
          }
          path = there;
          expect(statuses).to.deep.equal([404, 404, 404, 404, 404]);
        });
      }
    });
  }
});
