import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type pg from 'pg';
import { commandAuthor } from '../../src/config/store/author.js';
import { type ConfigDocument, emptyConfig } from '../../src/config/schema/model.js';
import {
  type AppliedConfig,
  applyConfigText,
  ConfigConflict,
  loadConfig,
  loadConfigVersion,
  type NextConfig,
  saveConfig,
} from '../../src/config/store/store.js';
import { OperatorError } from '../../src/shared/errors.js';
import { freshDatabase } from '../support/world.js';

const tenant = 1;
const example = readFileSync(new URL('../../examples/study-app.yaml', import.meta.url), 'utf8');
const metric = (key: string): string => `metrics: [{key: ${key}, name: ${key}}]`;

const empty = (expectedVersion: number, no: number = tenant): NextConfig => ({
  tenant: no,
  expectedVersion,
  document: emptyConfig,
  author: commandAuthor,
  now: '2026-11-20T12:00:00.000Z',
});

/** What a rejected promise was rejected with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('nothing was thrown'),
    (error: unknown) => error,
  );
}

/** Whether a statement on the database of this connection waits for another transaction to end. */
async function someoneWaits(client: pg.PoolClient): Promise<boolean> {
  // A transaction sees one snapshot of the activity until it is told to take another.
  await client.query('select pg_stat_clear_snapshot()');
  const { rowCount } = await client.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  return rowCount !== 0;
}

describe('The stored configuration', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await freshDatabase();
    ({ pool } = database);
  });
  afterEach(() => database.drop());

  const apply = (
    text: string,
    options: { prune?: boolean; dryRun?: boolean; attempts?: number; now?: string } = {},
  ): Promise<AppliedConfig> =>
    applyConfigText({ pool, tenant, text, fileName: 'f.yaml', now: '2026-11-20T12:00:00.000Z', prune: false, dryRun: false, ...options });
  const versions = async (): Promise<number[]> => {
    const { rows } = await pool.query<{ version: number }>('select version from config_versions where tenant = $1 order by version', [
      tenant,
    ]);
    return rows.map(({ version }) => version);
  };
  const keys = ({ metrics }: ConfigDocument): string[] => metrics.map(({ key }) => key);

  it('is version 0, empty, before the first is saved', async () => {
    expect(await loadConfig(pool, tenant)).to.deep.equal({ tenant, version: 0, document: emptyConfig });
    expect(await loadConfigVersion(pool, tenant, 0)).to.deep.equal({ tenant, version: 0, document: emptyConfig });
    expect(await loadConfigVersion(pool, tenant, 1)).to.equal(null);
  });

  it('reads back as it was saved, the latest and every version before it', async () => {
    const first = await apply(example);
    const second = await apply(metric('pages-read'));
    expect([first.config.version, second.config.version]).to.deep.equal([1, 2]);
    expect(await loadConfig(pool, tenant)).to.deep.equal(second.config);
    expect(await loadConfigVersion(pool, tenant, 1)).to.deep.equal(first.config);
  });

  it('belongs to its tenant', async () => {
    await pool.query("insert into tenants (no, name) values (7, 'Other')");
    await apply(example);
    expect((await loadConfig(pool, 7)).version).to.equal(0);
    expect((await saveConfig(pool, empty(0, 7))).version).to.equal(1);
    expect((await loadConfig(pool, tenant)).document.metrics).to.have.length(1);
  });

  it('gets no new version from the same file', async () => {
    const { config } = await apply(example);
    const again = await apply(example, { now: '2027-01-01T00:00:00.000Z', prune: true });
    expect(again).to.deep.equal({ config, saved: false, changes: [], kept: [] });
    expect(await versions()).to.deep.equal([1]);
  });

  it('is not touched by a dry run or a refused file', async () => {
    const { saved, changes, config } = await apply(example, { dryRun: true });
    expect([saved, changes.length, config.version]).to.deep.equal([false, 26, 0]);
    const error = await rejection(apply('metrics: 5\npoints: 6'));
    expect(error).to.be.instanceOf(OperatorError);
    expect(String(error)).to.contain('f.yaml:1:10: ').and.to.contain('f.yaml:2:9: ');
    expect(await versions()).to.deep.equal([]);
  });

  it('refuses to save on anything but the latest version', async () => {
    await apply(example);
    for (const expectedVersion of [0, 2, 5]) {
      const error = await rejection(saveConfig(pool, empty(expectedVersion)));
      expect(error).to.be.instanceOf(ConfigConflict);
      expect(error).to.include({ tenant, expectedVersion });
    }
    expect(await versions()).to.deep.equal([1]);
  });

  it('lets a transaction go on after a conflict', async () => {
    await apply(example);
    const client = await pool.connect();
    try {
      await client.query('begin');
      expect(await rejection(saveConfig(client, empty(0)))).to.be.instanceOf(ConfigConflict);
      expect((await saveConfig(client, empty(1))).version).to.equal(2);
      await client.query('rollback');
    } finally {
      client.release();
    }
    expect(await versions()).to.deep.equal([1]);
  });

  it('waits for a save that is not committed yet, and conflicts with it only if it is', async () => {
    const client = await pool.connect();
    try {
      for (const [end, outcome] of [
        ['rollback', 'saved'],
        ['commit', 'conflict'],
      ]) {
        const { version } = await loadConfig(pool, tenant);
        await client.query('begin');
        await saveConfig(client, empty(version));
        const other = saveConfig(pool, empty(version)).then(
          () => 'saved',
          (error: unknown) => (error instanceof ConfigConflict ? 'conflict' : String(error)),
        );
        while (!(await someoneWaits(client))) continue;
        await client.query(end ?? '');
        expect(await other).to.equal(outcome);
      }
    } finally {
      client.release();
    }
    expect(await versions()).to.deep.equal([1, 2]);
  });

  it('loses none of the changes that writers make at the same time', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `m${n}`);
    const applied = await Promise.all(names.map((name) => apply(metric(name))));
    expect(applied.map(({ config }) => config.version).sort((a, b) => a - b)).to.deep.equal(names.map((_, n) => n + 1));
    const { document } = await loadConfig(pool, tenant);
    expect(keys(document).sort()).to.deep.equal([...names].sort());
    expect(new Set(document.metrics.map(({ no }) => no)).size).to.equal(names.length);
    expect(document.nextNo).to.equal(names.length + 1);
  });

  it('gives up after the attempts it was given, and says so', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `m${n}`);
    const results = await Promise.allSettled(names.map((name) => apply(metric(name), { attempts: 1 })));
    const saved = names.filter((_, n) => results[n]?.status === 'fulfilled');
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(reasons).to.not.be.empty;
    for (const reason of reasons) {
      expect(reason).to.be.instanceOf(OperatorError);
      expect(String(reason)).to.contain('other writers changed the configuration');
    }
    expect(keys((await loadConfig(pool, tenant)).document).sort()).to.deep.equal(saved.sort());
  });
});
