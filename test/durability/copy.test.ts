import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type pg from 'pg';
import { copyRows, type AppendedTable } from '../../src/postgres/copy.js';
import { RowProblem } from '../../src/postgres/binary.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

interface Row {
  readonly key: string;
  readonly text: string | null;
  readonly whole: number;
  readonly big: number | null;
  readonly real: number;
  readonly json: string | null;
  readonly list: readonly number[];
  readonly day: number;
  readonly at: number;
}

const table: AppendedTable<Row> = {
  name: 'copied',
  columns: [
    { name: 'key', type: 'uuid', value: ({ key }) => key },
    { name: 'text', type: 'text', value: ({ text }) => text },
    { name: 'whole', type: 'integer', value: ({ whole }) => whole },
    { name: 'big', type: 'bigint', value: ({ big }) => big },
    { name: 'real', type: 'float8', value: ({ real }) => real },
    { name: 'json', type: 'jsonb', value: ({ json }) => json },
    { name: 'list', type: 'int[]', value: ({ list }) => list },
    { name: 'day', type: 'date', value: ({ day }) => day },
    { name: 'at', type: 'moment', value: ({ at }) => at },
  ],
};

const plain: Row = { key: randomUUID(), text: 'a', whole: 1, big: 2, real: 0.5, json: '{"a": 1}', list: [3], day: 0, at: 0 };
const dayMs = 86_400_000;

describe('Rows that are written by COPY', () => {
  let database: TestDatabase;
  before(async () => {
    database = await freshDatabase({ connections: 1 });
    await database.pool.query(
      'create table copied (tenant integer, key uuid, text text, whole integer, big bigint, real float8, json jsonb, list integer[], day date, at timestamptz)',
    );
  });
  after(() => database.drop());
  afterEach(() => database.pool.query('truncate copied'));

  const write = (rows: readonly Row[]): Promise<unknown> =>
    inTransaction(database.pool, (client: pg.PoolClient) => copyRows(client, 7, table, rows));

  /** What Postgres has, as it says it in text. */
  async function stored(): Promise<unknown[]> {
    const { rows } = await database.pool.query<{ row: unknown }>(
      `select json_build_array(tenant, key, text, whole, big::text, real::text, json, list, day - date '1970-01-01', extract(epoch from at) * 1000) as row
         from copied order by whole`,
    );
    return rows.map(({ row }) => row);
  }

  it('keep their values, the largest and the smallest included', async () => {
    const rows: Row[] = [
      { ...plain, whole: -(2 ** 31), big: Number.MIN_SAFE_INTEGER, real: -0, text: '', json: null, list: [], day: -dayMs / 1_000, at: -1 },
      {
        ...plain,
        whole: -1,
        big: -1,
        real: 5e-324,
        text: null,
        json: '"é\\n🙂"',
        list: [-1, 2 ** 31 - 1],
        day: 10_957,
        at: 946_684_800_001,
      },
      { ...plain, whole: 0, big: null, real: 0.1, text: '\t\\N "x" 🙂\n', list: [0], day: 20_000, at: 1_795_330_622_710 },
      {
        ...plain,
        whole: 2 ** 31 - 1,
        big: 2 ** 32,
        real: Number.MAX_VALUE,
        text: 'é'.repeat(100_000),
        day: 100_000,
        at: 4_102_444_800_000,
      },
    ];
    await write(rows);
    const texts = ['-0', '5e-324', '0.1', '1.7976931348623157e+308'];
    const expected = rows.map(({ key, text, whole, big, json, list, day, at }, i) => [
      ...[7, key, text, whole, big === null ? null : String(big), texts[i]],
      ...[json === null ? null : (JSON.parse(json) as unknown), list, day, at],
    ]);
    expect(await stored()).to.deep.equal(expected);
  });

  it('may be any number', async () => {
    await write(Array.from({ length: 5_000 }, (_, i) => ({ ...plain, whole: i, text: 'x'.repeat(i % 300) })));
    const { rows } = await database.pool.query('select count(*)::int, sum(whole)::int, sum(length(text))::int as letters from copied');
    const letters = Array.from({ length: 5_000 }, (_, i) => i % 300).reduce((sum, length) => sum + length);
    expect(rows).to.deep.equal([{ count: 5_000, sum: (5_000 * 4_999) / 2, letters }]);
  });

  for (const [what, change] of [
    ['a number that is no integer', { whole: 1.5 }],
    ['an integer that is too large', { whole: 2 ** 31 }],
    ['a bigint that is no integer', { big: 0.5 }],
    ['a text that is no UUID', { key: 'ana' }],
    ['a moment that is none', { at: NaN }],
    ['a day that is none', { day: Infinity }],
  ] as const) {
    it(`cannot encode ${what}`, async () => {
      const problem: unknown = await write([plain, { ...plain, ...change }]).catch((error: unknown) => error);
      expect(problem).to.be.instanceOf(RowProblem);
      expect(await stored()).to.deep.equal([]);
    });
  }

  for (const [what, change, code] of [
    ['a NUL in a text', { text: 'a\0b' }, '22021'],
    ['a NUL in JSON', { json: '"\\u0000"' }, '22P05'],
    ['JSON that is none', { json: '{' }, '22P02'],
  ] as const) {
    it(`are refused for ${what}, and the connection remains usable`, async () => {
      // The refusal of the first row comes while the others are still being sent.
      const rows = [{ ...plain, ...change }, ...Array.from({ length: 5_000 }, () => ({ ...plain, text: 'x'.repeat(5_000) }))];
      const problem: unknown = await write(rows).catch((error: unknown) => error);
      expect(problem).to.include({ code });
      expect(await stored()).to.deep.equal([]);
      await write([plain]);
      expect(await stored()).to.have.length(1);
    });
  }
});
