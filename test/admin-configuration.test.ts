import { expect } from 'chai';
import { bodyOf } from './support/answers.js';
import { Contract, hasContract } from './support/contract.js';
import { defaultNow, startWorld, type Reply, type World } from './support/world.js';

const base = '/admin/v1';
const nobody = '00000000-0000-4000-8000-000000000000';

interface Batch {
  readonly created: readonly Item[];
  readonly updated: readonly Item[];
  readonly deleted: readonly Item[];
  readonly issues: readonly { readonly index: number; readonly id?: string; readonly severity: string; readonly message: string }[];
}
type Item = Readonly<Record<string, unknown>> & { readonly id: string };

/** What a table of a resource needs: ids of what it refers to are put in where it says so. */
interface Ids {
  readonly metric: string;
  readonly other: string;
  readonly city: string;
  readonly kind: string;
  readonly system: string;
  readonly achievement: string;
}

interface Row {
  readonly path: string;
  /** Whether the contract has it. */
  readonly hosted: boolean;
  /** Items that are created, and what is shown of them beyond what was sent. */
  readonly create: (ids: Ids) => readonly (readonly [sent: object, shown: object])[];
  readonly update: (ids: Ids) => readonly (readonly [sent: object, shown: object])[];
  /** Fields that make a whole batch a 422, and what the sentence says. */
  readonly refused: (ids: Ids) => readonly (readonly [fields: object, sentence: RegExp])[];
  /** Items that are issues, and what the message says. */
  readonly issues: (ids: Ids) => readonly (readonly [item: object, message: RegExp])[];
  /** Changes of the first item that are issues. */
  readonly bad: (ids: Ids) => readonly (readonly [fields: object, message: RegExp])[];
}

const filters = (id: string): object[] => [{ attributeId: id, attributeValue: 'x' }];

const rows: Readonly<Record<string, Row>> = {
  attributes: {
    path: '/attributes',
    hosted: true,
    create: () => [
      [{ name: 'Plan', key: 'plan', type: 'user' }, {}],
      [{ name: 'Plan', key: 'plan', type: 'event' }, {}],
    ],
    update: () => [[{ name: 'Tarif' }, { name: 'Tarif', key: 'plan', type: 'user' }]],
    refused: () => [
      [{ name: 1 }, /`0.name` must be a string/],
      [{ name: ' ' }, /`0.name` must not be empty/],
      [{ name: 'x'.repeat(1001) }, /`0.name` is longer than 1,000 characters/],
      [{ key: 'a b' }, /`0.key` may hold only letters/],
      [{ key: undefined }, /`0.key` is required/],
      [{ type: 'metric' }, /`0.type` must be one of user, event/],
    ],
    issues: () => [[{ name: 'P', key: 'plan', type: 'user' }, /Attribute "plan" exists already/]],
    bad: () => [],
  },
  metrics: {
    path: '/metrics',
    hosted: true,
    create: () => [
      [{ name: 'Money', key: 'money', unitType: 'currency', units: 'EUR' }, {}],
      [
        { name: 'Steps', key: 'steps' },
        { unitType: 'number', units: '' },
      ],
    ],
    update: () => [[{ units: 'USD' }, { name: 'Money', unitType: 'currency', units: 'USD' }]],
    refused: () => [
      [{ unitType: 'text' }, /`0.unitType` must be one of number, currency/],
      [{ units: 5 }, /`0.units` must be a string/],
      [{ name: null }, /`0.name` must be a string/],
    ],
    issues: () => [[{ name: 'M', key: 'money' }, /Metric "money" exists already/]],
    bad: () => [],
  },
  'points systems': {
    path: '/points',
    hosted: true,
    create: ({ metric, city }) => [
      [
        {
          ...{ name: 'Energy', key: 'energy', description: 'For play', badge: { url: 'https://x.test/e.png' }, maxPoints: 100 },
          levels: [{ name: 'Low', key: 'low', points: 10 }],
          boosts: [{ name: 'Double!', start: '2040-01-01', multiplier: 2, userAttributes: filters(city) }],
          triggers: [{ type: 'metric', points: 5, metricId: metric, metricThreshold: 1 }],
        },
        { status: 'active' },
      ],
      [
        { name: 'Gold', key: 'gold' },
        { description: '', badge: null, maxPoints: null, status: 'active', levels: [], boosts: [], triggers: [] },
      ],
    ],
    update: () => [
      [
        { maxPoints: null, description: '' },
        { name: 'Energy', maxPoints: null, description: '', badge: { url: 'https://x.test/e.png' } },
      ],
    ],
    refused: () => [
      [{ maxPoints: 0 }, /`0.maxPoints` must be a whole number from 1/],
      [{ maxPoints: 1.5 }, /`0.maxPoints` must be a/],
      [{ badge: 'x' }, /`0.badge` must be an object/],
      [{ badge: {} }, /`0.badge.url` is required/],
      [{ levels: 5 }, /`0.levels` must be an array/],
      [{ levels: [{ name: 'L', key: 'l', points: -1 }] }, /`0.levels.0.points` must be a whole number from 0/],
    ],
    issues: ({ metric }) => [
      [{ name: 'G', key: 'gold' }, /"gold" exists already/],
      [
        { name: 'A', key: 'a1', levels: [1, 2].map((n) => ({ name: 'L', key: `l${n}`, points: 5 })) },
        /Level "l2": level "l1" starts at 5 points as well/,
      ],
      [{ name: 'A', key: 'a2', triggers: [{ type: 'metric', points: 1, metricId: nobody, metricThreshold: 1 }] }, /no metric with the id/],
      [
        { name: 'A', key: 'a3', triggers: [{ type: 'streak', points: 1, metricId: metric }] },
        /streakLength is missing, which type: streak needs/,
      ],
    ],
    bad: () => [[{ maxPoints: 5 }, /Level "low": 10 points can't be reached, as maxPoints is 5/]],
  },
  levels: {
    path: '/points/{system}/levels',
    hosted: true,
    create: () => [
      [{ name: 'One', key: 'one', points: 10, description: 'First', badge: { url: 'u' } }, {}],
      [
        { name: 'Two', key: 'two', points: 20 },
        { description: '', badge: null },
      ],
    ],
    update: () => [
      [
        { points: 15, badge: null },
        { name: 'One', key: 'one', points: 15, description: 'First', badge: null },
      ],
    ],
    refused: () => [
      [{ points: -1 }, /`0.points` must be a whole number from 0/],
      [{ points: '5' }, /`0.points` must be a number/],
      [{ description: 5 }, /`0.description` must be a string/],
    ],
    issues: () => [
      [{ name: 'X', key: 'one', points: 99 }, /"one" exists already/],
      [{ name: 'X', key: 'x', points: 20 }, /level "two" starts at 20 points as well/],
    ],
    bad: () => [[{ points: 20 }, /starts at 20 points as well/]],
  },
  boosts: {
    path: '/points/{system}/boosts',
    hosted: true,
    create: ({ city }) => [
      [
        { name: 'Happy hour', start: '2040-02-01', end: '2040-02-03', multiplier: 1.5, rounding: 'up', userAttributes: filters(city) },
        { status: 'scheduled', userId: null },
      ],
      [
        { name: 'Happy hour', start: '2040-01-01', multiplier: 2, userId: 'ana' },
        { status: 'active', end: null, rounding: 'down', userAttributes: [] },
      ],
      [{ name: '¡Ñ!', start: '2039-01-01', end: '2039-01-02', multiplier: 3 }, { status: 'finished' }],
    ],
    update: () => [
      [
        { end: null, userAttributes: null },
        { name: 'Happy hour', end: null, userAttributes: [], status: 'scheduled' },
      ],
    ],
    refused: () => [
      [{ multiplier: 0 }, /`0.multiplier` must be a number above 0 and below 100/],
      [{ multiplier: 100 }, /`0.multiplier` must be a number above 0 and below 100/],
      [{ start: '2040-02-30' }, /`0.start` must be a day of the calendar/],
      [{ name: 'x'.repeat(256) }, /`0.name` is longer than 255 characters/],
      [{ rounding: 'off' }, /`0.rounding` must be one of/],
      [{ userId: '' }, /`0.userId` must not be empty/],
      [{ userAttributes: [{ attributeId: 'x', attributeValue: 'y' }] }, /`0.userAttributes.0.attributeId` must be a UUID/],
    ],
    issues: ({ city, kind }) => [
      [{ name: 'B', start: '2040-01-02', end: '2040-01-01', multiplier: 2 }, /the end 2040-01-01 is before the start/],
      [
        { name: 'B', start: '2040-01-02', multiplier: 2, userId: 'a', userAttributes: filters(city) },
        /userAttributes have nothing to choose/,
      ],
      [{ name: 'B', start: '2040-01-02', multiplier: 2, userAttributes: filters(kind) }, /no user attribute with the id/],
      [{ name: 'B', start: '2040-01-02', multiplier: 2, userAttributes: [...filters(city), ...filters(city)] }, /"city" is filtered twice/],
    ],
    bad: () => [[{ end: '2039-01-01' }, /is before the start/]],
  },
  triggers: {
    path: '/points/{system}/triggers',
    hosted: true,
    create: ({ metric, city, kind, achievement }) => [
      [
        {
          ...{ type: 'metric', points: -5, status: 'active', metricId: metric, metricThreshold: 3, blockIfOutOfPoints: true },
          ...{ userAttributes: filters(city), eventAttributes: filters(kind) },
        },
        {},
      ],
      [
        { type: 'streak', points: 1, streakLength: 7 },
        { status: 'inactive', userAttributes: [], blockIfOutOfPoints: false },
      ],
      [{ type: 'streak', points: 2, streakLength: 7 }, {}],
      [{ type: 'achievement', points: 1, achievementId: achievement }, {}],
      [{ type: 'time', points: 1, timeUnit: 'days', timeInterval: 2 }, {}],
      [{ type: 'user_creation', points: 1, eventAttributes: null, userAttributes: null }, { userAttributes: [] }],
    ],
    update: ({ metric }) => [
      [
        { type: 'streak', streakLength: 3, points: 5 },
        { type: 'streak', streakLength: 3, points: 5, status: 'active', metricId: undefined, blockIfOutOfPoints: false },
      ],
      [
        { type: 'metric', metricId: metric, metricThreshold: 2 },
        { type: 'metric', metricThreshold: 2, streakLength: undefined, eventAttributes: [] },
      ],
    ],
    refused: () => [
      [{ points: 0 }, /`0.points` must not be 0/],
      [{ points: 1.5 }, /`0.points` must be a/],
      [{ type: 'other' }, /`0.type` must be one of/],
      [{ metricThreshold: 0 }, /`0.metricThreshold` must be a whole number from 1/],
      [{ metricId: 'x' }, /`0.metricId` must be a UUID/],
      [{ status: 'on' }, /`0.status` must be one of/],
      [{ timeInterval: 10_001 }, /`0.timeInterval` must be a whole number from 1 to 10,000/],
      [{ blockIfOutOfPoints: 'yes' }, /`0.blockIfOutOfPoints` must be a boolean/],
      [{ userAttributes: {} }, /`0.userAttributes` must be an array/],
    ],
    issues: ({ metric, city }) => [
      [{ type: 'metric', points: 1 }, /metricId is missing, which type: metric needs/],
      [{ type: 'metric', points: 1, metricId: nobody, metricThreshold: 1 }, /There is no metric with the id/],
      [{ type: 'metric', points: 1, metricId: metric, metricThreshold: 1, blockIfOutOfPoints: true }, /has nothing to block/],
      [
        { type: 'metric', points: 1, metricId: metric, metricThreshold: 1, eventAttributes: filters(city) },
        /no event attribute with the id/,
      ],
      [{ type: 'time', points: 1, timeUnit: 'days' }, /timeInterval is missing/],
      [{ type: 'achievement', points: 1, achievementId: nobody }, /no achievement with the id/],
      [{ type: 'streak', points: 1, streakLength: 1, metricId: metric }, /metricId does not go with type: streak/],
    ],
    bad: () => [[{ type: 'time' }, /timeUnit is missing/]],
  },
  leaderboards: {
    path: '/leaderboards',
    hosted: true,
    create: ({ metric, system, city }) => [
      [
        {
          ...{ name: 'Weekly', key: 'weekly', description: 'W', rankBy: 'metric', metricId: metric, maxParticipants: 10 },
          ...{ start: '2040-02-01', end: '2040-12-31', startTime: '09:00', endTime: '17:00:30', breakdownAttributes: [city] },
          ...{ runUnit: 'day', runInterval: 7, status: 'inactive' },
        },
        {},
      ],
      [
        { name: 'By points', key: 'by-points', rankBy: 'points', pointsSystemId: system, status: 'active', maxParticipants: null },
        { status: 'active', maxParticipants: 1000, start: '2040-01-02', breakdownAttributes: [] },
      ],
      [{ name: 'Streaks', key: 'streaks', rankBy: 'streak', status: 'scheduled', start: '2040-01-03' }, { status: 'scheduled' }],
    ],
    update: ({ system }) => [
      [
        { key: 'renamed', startTime: null, endTime: null, end: null, runUnit: null },
        { key: 'renamed', name: 'Weekly', startTime: undefined, end: undefined, runUnit: undefined, runInterval: undefined },
      ],
      [
        { rankBy: 'points', pointsSystemId: system },
        { rankBy: 'points', metricId: undefined, pointsSystemId: system },
      ],
      [{ status: 'scheduled' }, { status: 'scheduled', start: '2040-02-01' }],
      [
        { status: 'scheduled', name: 'Later' },
        { status: 'scheduled', name: 'Later' },
      ],
    ],
    refused: () => [
      [{ maxParticipants: 1001 }, /`0.maxParticipants` must be a whole number from 1 to 1,000/],
      [{ status: 'over' }, /`0.status` must be one of/],
      [{ startTime: '9:00' }, /`0.startTime` must be a time of the day/],
      [{ start: null }, /`0.start` must be a string/],
      [{ runUnit: 'week' }, /`0.runUnit` must be one of/],
      [{ breakdownAttributes: ['city'] }, /`0.breakdownAttributes.0` must be a UUID/],
    ],
    issues: ({ metric, kind }) => [
      [{ name: 'X', key: 'by-points', rankBy: 'streak' }, /"by-points" exists already/],
      [{ name: 'X', key: 'x', rankBy: 'metric' }, /metricId is missing, which rankBy: metric needs/],
      [{ name: 'X', key: 'x', rankBy: 'points', metricId: metric }, /metricId does not go with rankBy: points/],
      [{ name: 'X', key: 'x', rankBy: 'streak', runUnit: 'day', runInterval: 1 }, /only leaderboards by metric or points repeat/],
      [{ name: 'X', key: 'x', rankBy: 'streak', status: 'finished' }, /a leaderboard finishes after its end/],
      [{ name: 'X', key: 'x', rankBy: 'streak', status: 'active', start: '2041-01-01' }, /status: scheduled makes it active on that day/],
      [{ name: 'X', key: 'x', rankBy: 'streak', status: 'scheduled', start: '2040-01-02' }, /start must be after today/],
      [{ name: 'X', key: 'x', rankBy: 'streak', startTime: '09:00' }, /endTime is missing/],
      [{ name: 'X', key: 'x', rankBy: 'streak', breakdownAttributes: [kind] }, /no user attribute with the id/],
    ],
    bad: () => [
      [{ status: 'active' }, /scheduled and becomes active on its start by itself/],
      [{ status: 'inactive' }, /can't become inactive again/],
      [{ rankBy: 'streak' }, /rankBy stays as it is once a leaderboard is active/],
      [{ key: 'by-points' }, /"by-points" exists already/],
    ],
  },
  achievements: {
    path: '/achievements',
    hosted: false,
    create: ({ metric, city, kind, achievement }) => [
      [
        {
          ...{ name: 'Ten', key: 'ten', description: 'D', badge: { url: 'u' }, trigger: 'metric', metricId: metric, metricValue: 10.5 },
          ...{ userAttributes: filters(city), eventAttributes: filters(kind), status: 'active' },
        },
        {},
      ],
      [
        { name: 'A week: kept!', trigger: 'streak', streakLength: 7 },
        { key: 'a-week-kept', status: 'inactive', description: null, badge: null, userAttributes: [] },
      ],
      [{ name: 'A week, kept', trigger: 'api' }, { key: 'a-week-kept-2' }],
      [{ name: 'Both', trigger: 'achievement', achievementIds: [achievement] }, { key: 'both' }],
    ],
    update: () => [
      [
        { status: 'locked', metricValue: 12 },
        { status: 'locked', metricValue: 12, name: 'Ten' },
      ],
      [
        { status: 'active', description: null },
        { status: 'active', description: null },
      ],
    ],
    refused: () => [
      [{ metricValue: 0 }, /`0.metricValue` must be a number above 0/],
      [{ trigger: 'x' }, /`0.trigger` must be one of/],
      [{ status: 'scheduled' }, /`0.status` must be one of/],
      [{ streakLength: 1.5 }, /`0.streakLength` must be a/],
      [{ achievementIds: 'x' }, /`0.achievementIds` must be an array/],
    ],
    issues: ({ metric }) => [
      [{ name: 'X', key: 'ten', trigger: 'api' }, /"ten" exists already/],
      [{ name: 'X', trigger: 'metric', metricId: metric }, /metricValue is missing, which trigger: metric needs/],
      [{ name: 'X', trigger: 'api', metricId: metric }, /metricId does not go with trigger: api/],
      [{ name: 'X', trigger: 'achievement', achievementIds: [] }, /must name at least one achievement/],
      [{ name: 'X', trigger: 'achievement', achievementIds: [nobody] }, /no achievement with the id/],
    ],
    bad: ({ other }) => [
      [{ status: 'inactive' }, /can't become inactive again/],
      [{ trigger: 'api' }, /its trigger is metric for good/],
      [{ metricId: other }, /it counts metric "cards" for good/],
    ],
  },
};

describe('The Admin API configures', () => {
  for (const [name, row] of Object.entries(rows)) {
    describe(name, () => {
      let world: World;
      let ids: Ids;
      let path: string;
      const contract = hasContract ? new Contract('admin') : undefined;

      /** Calls, and holds the answer to the contract. */
      async function call(method: string, below = '', body?: unknown): Promise<Reply> {
        const reply = await world.request(method, base + path + below, { body });
        if (row.hosted && contract && reply.status < 300) {
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
        world = await startWorld({ config: 'settings: {}' });
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

      it('creates, lists and gets them as they were sent', async () => {
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

      it('does what it can of a batch, and tells the rest by index', async () => {
        const bad = row.issues(ids);
        const [good] = row
          .create(ids)
          .slice(-1)
          .map(([sent]) => ({
            ...sent,
            ...('key' in sent ? { key: 'fresh' } : {}),
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

      it('refuses what has the wrong shape, whole, and changes nothing', async () => {
        // What the worker does about earlier changes is done by then.
        await world.setClock(defaultNow);
        const before = await world.snapshot();
        const good = row.create(ids)[0]?.[0] ?? {};
        const refused = async (method: string, below: string, body: unknown, sentence: RegExp): Promise<void> => {
          const reply = await call(method, below, body);
          expect([reply.status, JSON.stringify(body ?? below).slice(0, 200)]).to.deep.equal([
            422,
            JSON.stringify(body ?? below).slice(0, 200),
          ]);
          expect((reply.body as { error: string }).error).to.match(sentence);
        };
        for (const [fields, sentence] of row.refused(ids)) {
          await refused('POST', '', [{ ...good, ...fields }], sentence);
          const isFixed = ['key', 'userId', 'levels'].some((field) => field in fields) || (name === 'attributes' && 'type' in fields);
          if (!isFixed) await refused('PATCH', '', [{ id: nobody, ...fields }], sentence);
        }
        await refused('POST', '', [], /at least 1 item/);
        await refused('POST', '', good, /must be an array/);
        await refused('POST', '', [null], /`0` must be an object/);
        await refused(
          'POST',
          '',
          Array.from({ length: 101 }, () => good),
          /at most 100 items/,
        );
        await refused(
          'PATCH',
          '',
          Array.from({ length: 101 }, () => ({ id: nobody })),
          /at most 100 items/,
        );
        await refused('PATCH', '', [{ id: 'x' }], /`0.id` must be a UUID/);
        await refused('PATCH', '', [{}], /`0.id` is required|`0.id` must be/);
        await refused('DELETE', '', undefined, /ids/);
        if (name !== 'boosts') await refused('DELETE', '?ids=x', undefined, /ids/);
        await refused('DELETE', `?${Array.from({ length: 101 }, () => `ids=${nobody}`).join('&')}`, undefined, /ids/);
        await refused('GET', '?limit=0', undefined, /limit/);
        await refused('GET', '?limit=101', undefined, /limit/);
        await refused('GET', '?skip=-1', undefined, /skip/);
        await refused('GET', '/x', undefined, /`id` must be a UUID/);
        expect((await call('GET', `/${nobody}`)).status).to.equal(404);
        expect(await world.snapshot()).to.equal(before);
      });

      if (row.path.includes('{system}')) {
        it('is a 404 for a points system that there is not', async () => {
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
