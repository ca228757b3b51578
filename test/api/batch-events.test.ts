import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pino from 'pino';
import { defaultTenant } from '../../src/access/tenants.js';
import { Context } from '../../src/app/context.js';
import { limits } from '../../src/shared/limits.js';
import { keyNames, outcomes } from '../../src/redis/contract.js';
import { bodyOf, configText, read, readPoints, userPath } from '../support/answers.js';
import { cityAndDevice } from '../support/configs.js';
import { startWorld, type Reply, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

interface BatchAnswer {
  readonly accepted: number;
  readonly issues: readonly { readonly index: number; readonly userId?: string; readonly severity: string; readonly message: string }[];
}

const config = {
  attributes: cityAndDevice,
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'spent', name: 'Spent' },
  ],
  points: [
    {
      key: 'p',
      name: 'P',
      triggers: [
        { key: 'earn', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' },
        { key: 'spend', type: 'metric', metricKey: 'spent', metricThreshold: 1, points: -1, status: 'active', blockIfOutOfPoints: true },
        { key: 'hourly', type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' },
      ],
    },
  ],
  leaderboards: [{ key: 'l', name: 'L', status: 'active', rankBy: 'metric', metricKey: 'm' }],
};

const path = '/admin/v1/metrics/events';
const event = (id: string, value: number, more: object = {}): object => ({ key: 'm', user: { id }, value, ...more });
/** Enough zones for a batch in which each event needs one that Redis lacks. */
const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zone.includes('/'));

describe('A batch of events', () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld({ config: configText(config) });
    await world.pool.query('alter table events add column ordinal bigserial');
  });
  afterEach(() => world.stop());

  const post = (body: unknown): Promise<Reply> => world.request('POST', path, { body });
  const send = async (events: readonly object[]): Promise<BatchAnswer> => bodyOf<BatchAnswer>(await post(events), 202);
  const total = async (id: string, metric = 'm'): Promise<number> =>
    (await read<{ current: number }>(world, userPath(id, `/metrics/${metric}`))).current;

  /** The idempotency keys that start so, in the order in which their events were counted. */
  async function counted(start: string): Promise<string[]> {
    await world.drain();
    const { rows } = await world.pool.query<{ key: string }>(
      'select idempotency_key as key from events where starts_with(idempotency_key, $1) order by ordinal',
      [start],
    );
    return rows.map(({ key }) => key);
  }

  it('is counted, in order, as if each had been sent by itself', async () => {
    const answer = await send([event('ana', 2), event('bo', 5), event('ana', 3), event('ana', -1, { attributes: { device: 'phone' } })]);
    expect(answer).to.deep.equal({ accepted: 4, issues: [] });
    expect([await total('ana'), await total('bo')]).to.deep.equal([4, 5]);
    await world.drain();
    const { rows } = await world.pool.query<{ user_id: string; total: number }>('select user_id, total from events order by ordinal');
    expect(rows.map(({ user_id, total: after }) => `${user_id} ${after}`)).to.deep.equal(['ana 2', 'bo 5', 'ana 5', 'ana 4']);
  });

  it('reports by index what the configuration and the state refuse, and does the rest', async () => {
    const answer = await send([
      event('ana', 3),
      event('ana', 1, { key: 'nothing' }),
      event('ana', 1, { attributes: { colour: 'red' } }),
      { key: 'm', user: { id: 'bo', attributes: { planet: 'Mars' } }, value: 1 },
      { key: 'spent', user: { id: 'ana' }, value: 2 },
      { key: 'spent', user: { id: 'ana' }, value: 5 },
      { key: 'm', user: { id: 'cy', subscribeToEmails: true }, value: 1 },
      event('di', 1e15),
      event('di', 1),
      event('ana', 4),
    ]);
    expect(answer.accepted).to.equal(4);
    expect(answer.issues.map(({ index, userId, severity }) => [index, userId, severity])).to.deep.equal([
      [1, 'ana', 'error'],
      [2, 'ana', 'error'],
      [3, 'bo', 'error'],
      [5, 'ana', 'error'],
      [6, 'cy', 'error'],
      [8, 'di', 'error'],
    ]);
    const says = (index: number): string => answer.issues.find((issue) => issue.index === index)?.message ?? '';
    expect(says(1)).to.equal('There is no metric with the key "nothing".');
    expect(says(2)).to.match(/^Invalid attribute keys: colour\./);
    expect(says(3)).to.match(/^Invalid attribute keys: planet\./);
    expect(says(5)).to.equal('The user does not have enough points for this event.');
    expect([await total('ana'), await total('ana', 'spent')]).to.deep.equal([7, 2]);
    for (const id of ['bo', 'cy']) expect((await world.get(userPath(id))).status, id).to.equal(404);
  });

  it('replays a key that it holds twice, or that was used before', async () => {
    const first = await world.event('m', { user: { id: 'ana' }, value: 1 }, { 'idempotency-key': 'k0' });
    expect(first.status).to.equal(201);
    const batch = [
      event('ana', 10, { idempotencyKey: 'k0' }),
      event('ana', 100, { idempotencyKey: 'k1' }),
      event('ana', 1_000, { idempotencyKey: 'k1' }),
      event('bo', 7, { idempotencyKey: 'k1' }),
      event('ana', 5, { key: 'spent', idempotencyKey: 'k1' }),
    ];
    expect(await send(batch)).to.deep.equal({ accepted: 5, issues: [] });
    expect(await send(batch)).to.deep.equal({ accepted: 5, issues: [] });
    expect([await total('ana'), await total('bo'), await total('ana', 'spent')]).to.deep.equal([101, 7, 5]);
  });

  const wholes: readonly (readonly [what: string, body: unknown, error: RegExp])[] = [
    ['no events', [], /^The body must have at least 1 item\.$/],
    ['1,001 events', Array.from({ length: 1_001 }, () => event('ana', 1)), /^The body must have at most 1000 items\.$/],
    ['an object', { events: [event('ana', 1)] }, /^The body must be an array\.$/],
    ['null', null, /^The body must be an array\.$/],
    ['a text as the third value', [event('ana', 1), event('ana', 1), event('ana', '1' as never)], /^`2\.value` must be a number\.$/],
    ['an event that is a number', [event('ana', 1), 5], /^`1` must be an object\.$/],
    ['no user', [event('ana', 1), { key: 'm', value: 1 }], /^`1\.user` is required and must be an object\.$/],
    ['no metric', [{ user: { id: 'ana' }, value: 1 }], /^`0\.key` is required and must be a string\.$/],
    ['an empty idempotency key', [event('ana', 1, { idempotencyKey: '' })], /^`0\.idempotencyKey` must have 1 to 255 characters\.$/],
    ['an id that is too long', [event('x'.repeat(256), 1)], /^`0\.user\.id` must have 1 to 255 characters\.$/],
    ['an unknown zone', [{ key: 'm', user: { id: 'a', tz: 'Mars/Olympus' }, value: 1 }], /^`0\.user\.tz` must be an IANA time zone/],
    ['a value beyond 1e15', [event('ana', 2e15)], /^`0\.value` must be at most 1000000000000000\.$/],
    ['attributes that are a list', [event('ana', 1, { attributes: ['phone'] })], /^`0\.attributes` must be an object\.$/],
  ];
  it('is refused as a whole if it is malformed, with the place of the error', async () => {
    await world.drain();
    const before = await world.snapshot();
    for (const [what, body, error] of wholes) {
      const reply = await post(body);
      expect(reply.status, what).to.equal(422);
      expect((reply.body as { error: string }).error, what).to.match(error);
    }
    const tooLarge = await world.request('POST', path, { raw: ' '.repeat(limits.maxBatchEventsBytes + 1) });
    expect([tooLarge.status, tooLarge.body]).to.deep.equal([
      413,
      { error: `The body is larger than ${limits.maxBatchEventsBytes} bytes: split it into smaller requests.` },
    ]);
    expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
  });

  it('may hold a thousand large events', async () => {
    const events = Array.from({ length: 1_000 }, (_, i) =>
      event(`user-${i}-${'x'.repeat(200)}`, 1, { idempotencyKey: randomUUID() + 'y'.repeat(200), attributes: { device: 'd'.repeat(500) } }),
    );
    expect(await send(events)).to.deep.equal({ accepted: 1_000, issues: [] });
  });

  describe('stays in order', () => {
    const keyed = (start: string, count: number, more: (i: number) => object = () => ({})): object[] =>
      Array.from({ length: count }, (_, i) => event(`u${i % 3}`, 1, { idempotencyKey: `${start}${i}`, ...more(i) }));
    const keysOf = (start: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${start}${i}`);

    it('with zones that Redis lacks, all over the batch', async () => {
      const events = keyed('z', 1_000, (i) => (i % 7 === 3 ? { user: { id: `u${i % 3}`, tz: zones[i % zones.length] } } : {}));
      expect(await send(events)).to.deep.equal({ accepted: 1_000, issues: [] });
      expect(await counted('z')).to.deep.equal(keysOf('z', 1_000));
    });

    it('when the function library is lost, and with it the open configuration', async () => {
      await world.redis.function('FLUSH');
      expect(await send(keyed('f', 600))).to.deep.equal({ accepted: 600, issues: [] });
      expect(await counted('f')).to.deep.equal(keysOf('f', 600));
    });

    it('with a user who was not settled for long', async () => {
      await send([event('u1', 1)]);
      const now = Date.parse('2040-01-02T12:00:00Z') + 100 * 86_400_000;
      await world.redis.set(world.partition + keyNames.clock, String(now));
      expect(await send(keyed('s', 300))).to.deep.equal({ accepted: 300, issues: [] });
      expect(await counted('s')).to.deep.equal(keysOf('s', 300));
      // One for each hour, and for each event.
      expect((await readPoints(world, 'u1', 'p')).total).to.equal(2_400 + 1 + 100);
    });

    it('when the compiled plan is lost, the configuration changes and the library is reloaded, again and again', async () => {
      const batches = 6;
      let isSending = true;
      const disturb = async (): Promise<void> => {
        for (let i = 0; isSending; i += 1) {
          await world.configure(configText({ ...config, metrics: [...config.metrics, { key: `more-${i}`, name: `More ${i}` }] }));
          await world.redis.function('FLUSH');
        }
      };
      const sending = (async () => {
        for (let n = 0; n < batches; n += 1) {
          const some = (i: number): object => (i % 50 === 49 ? { user: { id: `u${i % 3}`, tz: zones[(n * 50 + i) % zones.length] } } : {});
          expect(await send(keyed(`c${n}-`, 1_000, some))).to.deep.equal({ accepted: 1_000, issues: [] });
        }
        isSending = false;
      })();
      await Promise.all([sending, disturb()]);
      for (let n = 0; n < batches; n += 1) expect(await counted(`c${n}-`)).to.deep.equal(keysOf(`c${n}-`, 1_000));
    });

    it('and refuses a chunk whose predecessor has not run', async () => {
      const context = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined });
      try {
        const { engine } = context;
        await engine.open(defaultTenant);
        await world.drain();
        const before = await world.snapshot();
        const second = { args: { batch: randomUUID(), number: 1, isLast: 1 } };
        const [reply] = await engine.pipeline(await engine.config(defaultTenant), 'trackBatch', [second]);
        expect(reply?.outcome).to.equal(outcomes.outOfTurn);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      } finally {
        await context.stop();
      }
    });
  });
});
