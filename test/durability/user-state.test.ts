import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { keyNames } from '../../src/redis/contract.js';
import { bundleLibrary } from '../../src/redis/library.js';
import { packMessage, unpackMessage } from '../../src/redis/encoding.js';
import { startArena, type Arena, type Loss } from '../support/engine-subject.js';
import { baseMs } from '../support/model/documents.js';
import { OwnRedis } from '../support/own-redis.js';

/** A rule of a later version: it counts a user's commits in a record that TypeScript does not know. */
const field = 'tomorrow';
const library = bundleLibrary((file, source) => {
  if (file !== 'modules/settle.lua') return source;
  const text = '  users.save(tx, entry.id)\n';
  expect(source.split(text)).to.have.lengthOf(2);
  return source.replace(
    text,
    `${text}  local counted = transaction.change(tx, '${field}')\n  counted.events = (counted.events or 0) + 1\n`,
  );
});

const { document } = planApply(emptyConfig, configFileOf({ metrics: [{ key: 'cards', name: 'Cards' }] }), {
  now: new Date(baseMs).toISOString(),
  prune: false,
  newId: randomUUID,
});

describe('A record of the user state that TypeScript does not know', () => {
  let own: OwnRedis;
  let arena: Arena;
  let redis: Redis;
  before(async () => {
    own = await OwnRedis.start();
    arena = await startArena({ library, redisUrl: own.url });
    redis = new Redis(own.url);
  });
  after(async () => {
    redis.disconnect();
    await arena.stop();
    await own.stop();
  });

  it('is stored, drained, restored and verified', async () => {
    const session = await arena.enter(document, baseMs);
    const count = async (): Promise<unknown> => {
      const [key = ''] = await redis.keys(`*${keyNames.user}ana`);
      return unpackMessage(await redis.hgetBuffer(key, field));
    };
    try {
      let events = 0;
      for (const loss of ['empty', 'emptyByHand'] satisfies Loss[]) {
        for (let i = 0; i < 3; i += 1) {
          await session.subject.event({ metricKey: 'cards', user: { id: 'ana' }, value: 1 });
          events += 1;
        }
        expect(await session.verify()).to.deep.equal([]);
        await session.loseRedis(loss);
        expect(await count()).to.deep.equal({ events });
        expect(await session.verify()).to.deep.equal([]);
      }
      const [key = ''] = await redis.keys(`*${keyNames.user}ana`);
      await redis.hset(key, field, packMessage({ events: 0 }));
      expect((await session.verify()).map(({ what }) => what)).to.deep.equal([`ana: ${field}`]);
    } finally {
      await session.leave();
    }
  });
});

describe('A ledger that lacks a field of the user state', () => {
  it('is found by laurel verify', async () => {
    const text = 'unpack(changed, 1, count)';
    const library = bundleLibrary((file, source) =>
      file === 'modules/ledger.lua' ? source.replace(text, 'unpack(changed, 3, count)') : source,
    );
    expect(library.name).not.to.equal(bundleLibrary().name);
    const arena = await startArena({ library });
    const session = await arena.enter(document, baseMs);
    try {
      await session.subject.event({ metricKey: 'cards', user: { id: 'ana' }, value: 1 });
      expect((await session.verify()).map(({ what, postgres }) => [what.slice(0, 5), postgres])).to.deep.equal([['ana: ', null]]);
    } finally {
      await session.leave();
      await arena.stop();
    }
  });
});
