import { expect } from 'chai';
import { unpackAwards, type RecentAward } from '../../src/history/recent-awards.js';
import { metaFields } from '../../src/redis/contract.js';
import { CommandWriter } from '../../src/restore/command-writer.js';
import { luaScript } from '../../src/restore/lock.js';
import { AwardReader, awardAsBytes } from '../../src/restore/stored-awards.js';
import { keysOf, startWorld, type World } from '../support/world.js';

const id = '01234567-89ab-4cde-8f01-23456789abcd';
type AwardRow = [trigger: number, ordinal: number, awarded: number, total: number, at: string, day: string, boosts: number[]];

const awards: [name: string, row: AwardRow][] = [
  ['small numbers', [1, 0, 10, 110, '2040-01-02T12:00:00Z', '2040-01-02', []]],
  ['numbers of two and four bytes', [128, 255, 256, 65_536, '2040-01-02T12:00:00.001Z', '2040-01-02', [3, 300]]],
  ['the largest numbers', [2_147_483_647, 65_535, 1e15, 1e15, '2100-12-31T23:59:59.999Z', '2100-12-31', [2_147_483_647]]],
  ['numbers below 0', [1, 0, -5, -4_294_967_296, '1969-12-31T23:59:59.999Z', '1969-12-31', []]],
  ['times before what Postgres counts from', [1, 0, 5, 5, '1999-12-31T23:59:59.999Z', '1999-12-31', []]],
  [
    'many boosts, in their order',
    [1, 0, 5, 5, '2040-02-29T00:00:00Z', '2040-02-29', Array.from({ length: 1_000 }, (_, i) => (i * 7_919) % 1_009)],
  ],
];

const awardOf = ([trigger, ordinal, awarded, total, at, day, boosts]: AwardRow): RecentAward['award'] => ({
  trigger,
  ordinal,
  awarded,
  total,
  at: Date.parse(at),
  day: Date.parse(day) / 86_400_000,
  boosts,
});

describe('The commands that a restore writes', () => {
  let world: World;
  let meta: string;
  let key: string;

  before(async () => {
    world = await startWorld({ roles: { api: true, worker: false } });
    meta = `${world.partition}restore-test:meta`;
    key = `${world.partition}restore-test:key`;
  });
  beforeEach(async () => {
    await world.redis.unlink(...(await keysOf(world.redis, `${world.partition}restore-test:`)), meta);
    await world.redis.hset(meta, metaFields.restorer, 'this one');
  });
  after(() => world.stop());

  /** Does the commands of a writer as a restore does. */
  const run = (writer: CommandWriter): Promise<unknown> => world.redis.eval(luaScript('restore'), 1, meta, 'this one', '0', writer.bytes());

  async function asBytes([trigger, ordinal, awarded, total, at, day, boosts]: AwardRow): Promise<Buffer> {
    const { rows } = await world.pool.query<{ bytes: Buffer }>(
      `select ${awardAsBytes} as bytes from (select $1::uuid as event_id, $2::integer as trigger, $3::integer as ordinal, $4::bigint as awarded,
              $5::bigint as total, $6::timestamptz as at, $7::date as day, $8::integer[] as boosts) as award`,
      [id, trigger, ordinal, awarded, total, at, day, boosts],
    );
    return rows[0]!.bytes;
  }

  for (const [name, row] of awards) {
    it(`encode an award as the function library does: ${name}`, async () => {
      const list = await asBytes(row);
      expect(await run(new CommandWriter().command('RPUSH', key).addAwards(list))).to.equal(1);
      const expected = { id, award: awardOf(row) };
      expect(unpackAwards(await world.redis.lrangeBuffer(key, 0, -1))).to.deep.equal([expected]);
      const reader = new AwardReader(list);
      expect(reader.next()).to.equal(true);
      const { trigger, ordinal, awarded, total, at, day, boosts } = expected.award;
      expect(reader.text()).to.equal([id, trigger, ordinal, awarded, total, at, day, ...boosts].join(' '));
      expect(reader.next()).to.equal(false);
    });
  }

  it('encode many awards in order', async () => {
    const bytes = await Promise.all(awards.map(([, row]) => asBytes(row)));
    const all = Array.from({ length: 3_000 }, (_, i) => i % awards.length);
    const list = Buffer.concat(all.map((i) => bytes[i]!));
    await run(new CommandWriter().command('RPUSH', key).addAwards(list).addAwards(Buffer.alloc(0)));
    const kept = unpackAwards(await world.redis.lrangeBuffer(key, 0, -1)).map(({ award }) => award.at);
    expect(kept).to.deep.equal(all.map((i) => awardOf(awards[i]![1]).at));
  });

  const texts = [
    '',
    'a',
    'x'.repeat(40),
    'x'.repeat(41),
    'x'.repeat(100_000),
    'ü',
    '한국어'.repeat(10),
    '👩‍🚀',
    '\u0000\u007f\u0080',
    '\n"\\',
  ];
  it('hold every text and every byte as it is', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const writer = new CommandWriter().command('RPUSH', key);
    for (const text of texts) writer.add(text);
    await run(writer.add(every).add(Buffer.alloc(0)));
    expect(await world.redis.lrangeBuffer(key, 0, -1)).to.deep.equal([...texts.map((text) => Buffer.from(text)), every, Buffer.alloc(0)]);
  });

  it('have any number of values, with each field beside its value, and none', async () => {
    const fields = Object.fromEntries(Array.from({ length: 12_345 }, (_, i) => [`field ${i}`, `value ${i}`]));
    const writer = new CommandWriter().command('SET', `${key}:gone`).add('1').command('HSET', key);
    for (const [field, value] of Object.entries(fields)) writer.add(field).add(value);
    await run(writer.command('DEL', `${key}:gone`));
    expect(await world.redis.hgetall(key)).to.deep.equal(fields);
    expect(await world.redis.exists(`${key}:gone`)).to.equal(0);
  });

  it('may be empty, and then nothing is sent', async () => {
    expect(await run(new CommandWriter())).to.equal(1);
  });

  it('can be written again with the same writer', async () => {
    const writer = new CommandWriter().command('SET', key).add('x'.repeat(1_000_000));
    await run(writer);
    await run(writer.clear().command('SET', key).add('y'));
    expect(await world.redis.get(key)).to.equal('y');
  });
});
