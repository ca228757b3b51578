import { expect } from 'chai';
import { Redis } from 'ioredis';
import { bundleLibrary } from '../src/redis/library.js';
import { startArena, type Arena } from './support/engine-subject.js';
import { buildDocument } from './support/model/documents.js';
import { stores } from './support/stores.js';

const trigger = { type: 'time', unit: 'days', interval: 1, points: 5 } as const;
const document = buildDocument({ metrics: 1, systems: [{ triggers: [trigger] }] });
const at = (iso: string): number => Date.parse(iso);

describe('What a tenant far ahead in time knows of a zone', () => {
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

  it('does not do for the days that a user of another tenant has yet to settle', async () => {
    const here = await arena.enter(document, at('2040-01-16T12:00:00Z'));
    // What is stored for this moment of Lisbon begins 400 days before it: on 2040-01-17 at 03:45.
    const ahead = await arena.enter(document, at('2041-02-20T03:45:00Z'));
    try {
      await ahead.subject.identify('upsert', 'ben', { tz: 'Europe/Lisbon' });
      await here.subject.identify('upsert', 'ana', { tz: 'Europe/Lisbon' });
      // What is cached is forgotten, and the tenant ahead is the first to ask again.
      await redis.function('LOAD', 'REPLACE', bundleLibrary().source);
      await ahead.subject.points('ben', 'p1', 10);
      await here.drift(at('2040-01-17T04:00:00Z'));
      const { body } = await here.subject.points('ana', 'p1', 10);
      expect((body as { awards: { date: string }[] }).awards.map(({ date }) => date)).to.deep.equal(['2040-01-17T00:00:00.000Z']);
    } finally {
      await here.leave();
      await ahead.leave();
    }
  });
});
