import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { boardMember, firstLongSeq, parseMember } from '../../src/redis/boards.js';
import { keyNames } from '../../src/redis/contract.js';
import { startArena } from '../support/engine-subject.js';
import { baseMs } from '../support/model/documents.js';
import { OwnRedis } from '../support/own-redis.js';

const file = {
  metrics: [{ key: 'cards', name: 'Cards' }],
  leaderboards: [{ key: 'all', name: 'All', status: 'active', start: '2020-01-01', rankBy: 'metric', metricKey: 'cards' }],
};
const { document } = planApply(emptyConfig, configFileOf(file), { now: new Date(baseMs).toISOString(), prune: false, newId: randomUUID });

describe('A member of a leaderboard', function () {
  this.timeout(60_000);

  const numbers = [1, 255, 256, 65_536, firstLongSeq - 1, firstLongSeq, firstLongSeq + 1, 2 ** 32, 2 ** 40, 2 ** 47 - 1];

  it('sorts against its number, byte by byte, and says whom it stands for', () => {
    const users = ['ana', '', 'é 👩‍🚀', '\uffff', '9'.repeat(200)];
    for (const user of users) for (const seq of numbers) expect(parseMember(boardMember(seq, user))).to.deep.equal({ user, seq });
    const members = numbers.map((seq, i) => boardMember(seq, users[i % users.length]!));
    expect([...members].sort((a, b) => a.compare(b))).to.deep.equal(members.reverse());
  });

  it('keeps ties in order where numbers become longer, also after a restore', async () => {
    const own = await OwnRedis.start();
    const redis = new Redis(own.url);
    const arena = await startArena({ redisUrl: own.url });
    const session = await arena.enter(document, baseMs);
    const users = ['ann', 'ben', 'cat', 'dan', 'eve', 'fay'];
    const keyLike = async (pattern: string): Promise<string> => {
      const keys = await redis.keys(pattern);
      expect(keys, pattern).to.have.lengthOf(1);
      return keys[0]!;
    };
    const members = async (): Promise<Buffer[]> => redis.zrevrangeBuffer(await keyLike(`*:${keyNames.board}*`), 0, -1);
    const rankings = async (): Promise<unknown> => {
      const { status, body } = await session.subject.leaderboard('all', {});
      expect(status).to.equal(200);
      return (body as { rankings: { userId: string }[] }).rankings.map(({ userId }) => userId);
    };
    try {
      const meta = await keyLike(`*:${keyNames.meta}`);
      for (const value of [1, 2]) {
        await redis.hset(meta, 'seq', firstLongSeq - 4);
        for (const id of users) {
          const { status } = await session.subject.event({ metricKey: 'cards', user: { id }, value });
          expect(status).to.equal(201);
        }
      }
      const expected = users.map((id, i) => boardMember(firstLongSeq - 3 + i, id));
      expect(await members()).to.deep.equal(expected);
      expect(await rankings()).to.deep.equal(users);
      expect(await session.verify()).to.deep.equal([]);
      await session.loseRedis('empty');
      expect(await members()).to.deep.equal(expected);
      expect(await rankings()).to.deep.equal(users);
      expect(await session.verify()).to.deep.equal([]);
    } finally {
      await session.leave();
      await arena.stop();
      redis.disconnect();
      await own.stop();
    }
  });
});
