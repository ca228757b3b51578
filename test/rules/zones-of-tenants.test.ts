import { expect } from 'chai';
import { Redis } from 'ioredis';
import { bundleLibrary } from '../../src/redis/library.js';
import { startArena, type Arena } from '../support/engine-subject.js';
import { buildDocument } from '../support/model/documents.js';
import { canonicalZone } from '../../src/shared/calendar.js';
import { keyNames } from '../../src/redis/contract.js';
import { stores } from '../support/stores.js';
import { startWorld, type World } from '../support/world.js';

const trigger = { type: 'time', unit: 'days', interval: 1, points: 5 } as const;
const document = buildDocument({ metrics: 1, systems: [{ triggers: [trigger] }] });
const at = (iso: string): number => Date.parse(iso);

describe('The zone rules loaded for a tenant far ahead in time', () => {
  let arena: Arena;
  let redis: Redis;
  before(async () => {
    arena = await startArena();
    redis = new Redis((await stores()).redisUrl);
  });
  after(async () => {
    redis.disconnect();
    await arena.stop();
  });

  it('are not used for days that another tenant’s user has yet to settle', async () => {
    const here = await arena.enter(document, at('2040-01-16T12:00:00Z'));
    // What is stored for this moment of Lisbon begins 400 days before it: on 2040-01-17 at 03:45.
    const ahead = await arena.enter(document, at('2041-02-20T03:45:00Z'));
    try {
      await ahead.subject.identify('upsert', 'ben', { tz: 'Europe/Lisbon' });
      await here.subject.identify('upsert', 'ana', { tz: 'Europe/Lisbon' });
      // What is cached is forgotten, and the tenant ahead is the first to ask again.
      await redis.function('LOAD', 'REPLACE', bundleLibrary().source);
      await ahead.subject.points('ben', 'p1', 10);
      await here.subject.drift(at('2040-01-17T04:00:00Z'));
      const { body } = await here.subject.points('ana', 'p1', 10);
      expect((body as { awards: { date: string }[] }).awards.map(({ date }) => date)).to.deep.equal(['2040-01-17T00:00:00.000Z']);
    } finally {
      await here.leave();
      await ahead.leave();
    }
  });
});

describe('The name of a time zone', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: '{metrics: [{key: m, name: M}]}' });
  });
  after(() => world.stop());

  const tzOf = async (tz: string): Promise<unknown> => {
    const reply = await world.request('PUT', '/v1/users/ana', { body: { tz } });
    return reply.status < 300 ? (reply.body as { tz: unknown }).tz : reply.status;
  };

  it('is taken in any letter case, and kept as the IANA database writes it; a link keeps its name', async () => {
    const written = ['aMERIca/new_yORK', 'us/eastern', 'asia/CALCUTTA', 'ASIA/kolkata', 'etc/gmt+5', 'utc', 'africa/dar_es_salaam'];
    const kept = ['America/New_York', 'US/Eastern', 'Asia/Calcutta', 'Asia/Kolkata', 'Etc/GMT+5', 'UTC', 'Africa/Dar_es_Salaam'];
    expect(await Promise.all(written.map(tzOf))).to.deep.equal(kept);
  });

  it('is refused when it is an offset or no zone', async () => {
    for (const tz of ['+02:00', 'Mars/Olympus', 'Europe/Lisbon ', '']) expect(await tzOf(tz), tz).to.equal(422);
  });

  it('is one zone in Redis and in the process, in however many spellings it comes', async () => {
    const name = 'america/argentina/buenos_aires';
    const spellings = Array.from({ length: 100 }, (_, n) =>
      Array.from(name, (char, at) => ((n >> (at % 7)) & 1 ? char.toUpperCase() : char)).join(''),
    );
    for (const tz of spellings) await world.event('m', { user: { id: 'ben', tz }, value: 1 });
    const [key = ''] = await world.redis.keys(`${world.partition}${keyNames.zones}*`);
    const zones = await world.redis.hkeys(key);
    expect(zones.filter((zone) => zone.toLowerCase() === name)).to.deep.equal(['America/Argentina/Buenos_Aires']);
  });

  it('is known for every zone that Intl lists', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) expect(canonicalZone(zone.toUpperCase())).to.equal(zone);
  });
});
