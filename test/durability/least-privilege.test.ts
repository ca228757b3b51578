import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import pg from 'pg';
import pino from 'pino';
import { parse } from 'yaml';
import { migrate } from '../../src/postgres/migrate.js';
import { startService } from '../../src/app/service.js';
import { until } from '../support/answers.js';
import { administer, stores, withDatabase } from '../support/stores.js';
import { adminKey, keysOf, sampleConfig, startWorld, type World } from '../support/world.js';

const composeFile = fileURLToPath(new URL('../../docker-compose.yml', import.meta.url));
const roleFile = fileURLToPath(new URL('../../docker/postgres/1-role.sql', import.meta.url));
const database = `least_${process.pid}`;
/** The Postgres that the tests run has a role laurel already. */
const role = `${database}_role`;
const password = 'least0privilege';

describe('The container that the compose file makes for Laurel', () => {
  it('writes no files, has no capabilities, gains no privileges and has a limit of memory', async () => {
    const { services } = parse(await readFile(composeFile, 'utf8')) as { services: Record<string, Record<string, unknown>> };
    expect(services.laurel).to.deep.include({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      tmpfs: ['/tmp'],
    });
    for (const [name, service] of Object.entries(services)) expect(service.mem_limit, name).to.be.a('string');
  });
});

describe('The role that the compose file makes for Laurel', () => {
  let world: World;
  let url: string;
  let pool: pg.Pool | undefined;
  before(async () => {
    world = await startWorld();
    const { postgresUrl } = await stores();
    await administer(postgresUrl, `create database ${database}`);
    const owner = withDatabase(postgresUrl, database);
    await administer(owner, (await readFile(roleFile, 'utf8')).replaceAll(/\blaurel\b/g, role));
    await administer(owner, `alter role ${role} password '${password}'`);
    const changed = new URL(owner);
    Object.assign(changed, { username: role, password });
    url = changed.href;
    pool = new pg.Pool({ connectionString: url, max: 2 });
    pool.on('error', () => undefined);
  });
  after(async () => {
    await pool?.end();
    const { postgresUrl } = await stores();
    await administer(postgresUrl, `drop database ${database} with (force)`);
    await administer(postgresUrl, `drop role ${role}`);
    await world.stop();
  });

  it('is enough for everything that Laurel does: migrations, the partition of a month, events', async () => {
    await migrate(url, () => undefined);
    const redisPrefix = `${world.settings.redisPrefix}-least`;
    const settings = { ...world.settings, databaseUrl: url, redisPrefix, config: sampleConfig };
    const service = await startService({ settings, log: pino({ level: 'silent' }), print: () => undefined }, { api: true, worker: true });
    try {
      const reply = await fetch(`${service.address}/v1/metrics/flashcards-viewed/event`, {
        method: 'POST',
        headers: { 'x-api-key': adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ user: { id: 'ana' }, value: 1 }),
      });
      expect(reply.status).to.equal(201);
      await until('the event is in Postgres', async () => (await pool!.query('select from events')).rowCount === 1);
    } finally {
      await service.stop();
      for (const key of await keysOf(world.redis, `{${redisPrefix}:`)) await world.redis.del(key);
    }
  });

  const refused: readonly (readonly [what: string, sql: string])[] = [
    ['make roles', 'create role other'],
    ['make databases', 'create database other'],
    ['run programs', `copy (select 1) to program 'true'`],
    ['read files of the server', `select pg_read_file('postgresql.conf')`],
    ['become the superuser', `alter role ${role} superuser`],
    ['read the passwords of others', 'select * from pg_authid'],
  ];
  for (const [what, sql] of refused) {
    it(`may not ${what}`, async () => {
      const error: unknown = await pool!.query(sql).catch((reason: unknown) => reason);
      expect(error).to.have.property('code', '42501');
    });
  }
});
