import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { unpackAward, unpackAwards } from '../../src/history/recent-awards.js';
import { keyNames } from '../../src/redis/contract.js';
import { startArena, type Arena } from '../support/engine-subject.js';
import { baseMs } from '../support/model/documents.js';
import { OwnRedis } from '../support/own-redis.js';

const dayMs = 86_400_000;
const cards = (key: string, metricThreshold: number, points: number) =>
  ({ key, type: 'metric', metricKey: 'cards', metricThreshold, points, status: 'active' }) as const;

/** Awards of one event, of time, of more and of less than 0, with boosts and without, and of numbers of every size. */
const file = {
  metrics: [{ key: 'cards', name: 'Cards' }],
  points: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        cards('one', 1, 7),
        cards('two', 2, 300),
        cards('less', 3, -100),
        cards('many', 4, 1_000_000_000),
        { key: 'days', type: 'time', timeUnit: 'days', timeInterval: 1, points: 3, status: 'active' },
      ],
      boosts: [
        { key: 'ever', name: 'Ever', start: '2020-01-01', multiplier: 1.5, rounding: 'up' },
        { key: 'own', name: 'Own', start: '2020-01-01', multiplier: 2, userId: 'ana' },
      ],
    },
    { key: 'gems', name: 'Gems', triggers: [cards('gem', 1, 1)] },
  ],
};
const { document } = planApply(emptyConfig, configFileOf(file), { now: new Date(baseMs).toISOString(), prune: false, newId: randomUUID });

describe('Recent awards in Redis', function () {
  this.timeout(60_000);
  let own: OwnRedis;
  let arena: Arena;
  let redis: Redis;
  before(async () => {
    own = await OwnRedis.start();
    arena = await startArena({ redisUrl: own.url });
    redis = new Redis(own.url);
  });
  after(async () => {
    redis.disconnect();
    await arena.stop();
    await own.stop();
  });

  /** Every list, as its elements in hexadecimal digits. */
  async function lists(): Promise<Map<string, string[]>> {
    const keys = (await redis.keys(`*:${keyNames.awards}*`)).sort();
    const elements = await Promise.all(keys.map((key) => redis.lrangeBuffer(key, 0, -1)));
    return new Map(keys.map((key, i) => [key, elements[i]!.map((element) => element.toString('hex'))]));
  }

  it('are after a restore, byte for byte, what the function library has written', async () => {
    const session = await arena.enter(document, baseMs);
    try {
      const event = async (id: string, value: number, tz: string): Promise<void> => {
        expect((await session.subject.event({ metricKey: 'cards', user: { id, tz }, value })).status).to.equal(201);
      };
      for (const [day, value] of [1, 2, 4, 1, 12, 1_000, 3].entries()) {
        await event('ana', value, day % 2 ? 'Pacific/Kiritimati' : 'Etc/GMT+12');
        await event('ben', value, 'UTC');
        await session.subject.setNow(baseMs + day * dayMs);
      }
      const [system] = document.pointsSystems;
      for (const amount of [50, -20]) expect((await session.subject.adjustPoints('ana', system!.key, { amount })).status).to.equal(200);
      const before = await lists();
      expect([...before.keys()]).to.have.lengthOf(4);
      expect(await session.verify()).to.deep.equal([]);
      await session.loseRedis('empty');
      expect(await lists()).to.deep.equal(before);
      expect(await session.verify()).to.deep.equal([]);
    } finally {
      await session.leave();
    }
  });

  it('share the id and the moment of their event', async () => {
    const session = await arena.enter(document, baseMs);
    try {
      await session.subject.event({ metricKey: 'cards', user: { id: 'ben', tz: 'UTC' }, value: 2 });
      const elements = [...(await lists()).values()].map((list) => list.map((element) => Buffer.from(element, 'hex')));
      expect(elements.map((list) => list.map(({ length }) => length)).sort()).to.deep.equal([[27], [32, 6]]);
      const [xp = []] = elements.filter(({ length }) => length === 2);
      const [newest, before] = unpackAwards(xp);
      expect([newest!.award.ordinal, before!.award.ordinal]).to.deep.equal([1, 0]);
      expect({ ...before, award: { ...before!.award, trigger: 0, ordinal: 0, awarded: 0, total: 0 } }).to.deep.equal({
        ...newest,
        award: { ...newest!.award, trigger: 0, ordinal: 0, awarded: 0, total: 0 },
      });
    } finally {
      await session.leave();
    }
  });

  it('are rejected when they are damaged', () => {
    // Numbers that a type with a sign would read as others.
    const element = Buffer.from('ff0b00cdea60ceee6b28000102' + '0123456789ab4cde8f0123456789abcd' + '01a202ae1b2c', 'hex');
    const award = unpackAward(element, undefined);
    expect(award).to.deep.equal({
      id: '01234567-89ab-4cde-8f01-23456789abcd',
      award: { trigger: 11, ordinal: 0, awarded: 60_000, total: 4_000_000_000, boosts: [1, 2], at: 0x01a202ae1b2c, day: 20_778 },
    });
    const shared = Buffer.from('c20c01cc84cdea60', 'hex');
    const { id, award: second } = unpackAward(shared, award);
    expect([id, second]).to.deep.equal([award.id, { ...award.award, trigger: 12, ordinal: 1, awarded: 132, total: 60_000, boosts: [] }]);
    expect(() => unpackAward(shared, undefined)).to.throw();

    const readsAs = (damaged: Buffer, inFront = award): unknown => {
      try {
        return unpackAward(damaged, inFront);
      } catch {
        return undefined;
      }
    };
    for (const [whole, is] of [[element, award] as const, [shared, { id, award: second }] as const]) {
      for (let length = 0; length < whole.length; length += 1) {
        expect(readsAs(whole.subarray(0, length)), `${length} bytes`).not.to.deep.equal(is);
      }
      for (let i = 0; i < whole.length; i += 1) {
        for (let byte = 0; byte < 256; byte += 1) {
          const damaged = Buffer.from(whole);
          damaged[i] = byte;
          if (byte !== whole[i]) expect(readsAs(damaged), `${byte} at ${i}`).not.to.deep.equal(is);
        }
      }
    }
  });
});
