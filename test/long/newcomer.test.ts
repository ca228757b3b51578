import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pg from 'pg';
import { parse } from 'yaml';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { totalsOf } from '../../src/redis/encoding.js';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { ProcessHandle } from '../../src/local-stores/processes.js';
import { fromBin, killChildren, LaurelProcess } from '../support/process.js';
import { configFile } from '../support/stage.js';
import { removeStores } from '../support/stores.js';
import { tenant } from '../support/world.js';

/** The request that the service prints, as `curl` would send it. */
interface Pasted {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Reads the command as a shell does: words, single quotes, and lines that go on after a backslash. */
function readCurl(output: string): Pasted {
  const command = /^(?: {2})?curl -s [\s\S]*?[^\\]$/m.exec(output)![0].replace(/\\\n/g, ' ');
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  const after = (flag: string): string[] => words.flatMap((word, index) => (word === flag ? [words[index + 1]!] : []));
  return {
    url: words.find((word) => word.startsWith('http'))!,
    headers: Object.fromEntries(after('-H').map((header) => header.split(': ') as [string, string])),
    body: after('-d')[0]!,
  };
}

interface EventAnswer {
  readonly eventId: string;
  readonly total: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The response that the README shows, without what it leaves out. YAML allows the commas at its ends. */
function readmeResponse(): EventAnswer {
  const [, text = ''] = /```jsonc\n([\s\S]*?)```/.exec(readme)!;
  return parse(text.replaceAll('/* … */', '')) as EventAnswer;
}

describe('The first start of Laurel', () => {
  let folder: string;
  let pasted: Pasted;
  let key: string;
  let laurel: LaurelProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-newcomer-'));
  });
  after(async () => {
    await killChildren();
    await removeStores(folder);
  });

  async function start(): Promise<string> {
    await killChildren();
    laurel = new LaurelProcess(fromBin, ['serve'], { PORT: '0', DATA_DIR: folder, API_PROCESSES: '1' });
    const address = await laurel.address();
    await laurel.says(/-d '.*'\n\n$/);
    return address;
  }

  /** Sends the printed request, to the address of now and with the key of the first start. */
  async function paste(address: string, headers: Record<string, string> = {}): Promise<{ status: number; body: EventAnswer }> {
    const url = address + new URL(pasted.url).pathname;
    const response = await fetch(url, { method: 'POST', body: pasted.body, headers: { ...pasted.headers, 'X-API-KEY': key, ...headers } });
    return { status: response.status, body: (await response.json()) as EventAnswer };
  }

  /** The servers that Laurel has started or found, by what it says of them. */
  const servers = (): ProcessHandle[] => {
    const pids = [...laurel.output.matchAll(/^(?:Redis|Postgres) .*?process (\d+)/gm)].map(([, pid]) => Number(pid));
    expect(pids).to.have.lengthOf(2);
    return pids.map((pid) => new ProcessHandle(pid));
  };
  /** Laurel's supervisor, its processes and its servers. */
  const processes = (): ProcessHandle[] => [
    ...[laurel.pid, ...laurel.processes().values()].map((pid) => new ProcessHandle(pid)),
    ...servers(),
  ];
  const living = (handles: readonly ProcessHandle[]): number[] => handles.filter((handle) => handle.isAlive()).map(({ pid }) => pid);

  /** The total of the first metric, straight from the stores: this joins the servers of the folder as another process of Laurel would. */
  async function stored(): Promise<unknown> {
    const options = { dataDir: folder, log: () => undefined };
    const [redisStore, postgresStore] = [await startLocalRedis(options), await startLocalPostgres(options)];
    const redis = new Redis(redisStore.url);
    const postgres = new pg.Client({ connectionString: postgresStore.url });
    await postgres.connect();
    const { rows } = await postgres.query<{ metric: number; total: number }>(
      "select metric, total from user_metrics where user_id = 'ana'",
    );
    const hash = await redis.hgetallBuffer(`${partitionPrefix('laurel', tenant)}${keyNames.user}ana`);
    const inRedis = totalsOf(new Map(Object.entries(hash)), 'metric').get(rows[0]!.metric);
    const keyed = await postgres.query(`select 1 from events where idempotency_key = 'once'`);
    redis.disconnect();
    await postgres.end();
    for (const store of [redisStore, postgresStore]) await store.stop();
    return { redis: inRedis, postgres: rows.map(({ total }) => total), rowsOfTheKey: keyed.rowCount };
  }

  it('prints an address, an admin key and a request that works', async () => {
    const address = await start();
    key = /^Its admin key, which is shown only this once: (\S+)$/m.exec(laurel.output)![1]!;
    pasted = readCurl(laurel.output);
    expect(pasted).to.deep.include({
      url: `${address}/v1/metrics/flashcards-viewed/event`,
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
    });
    const { status, body } = await paste(address);
    expect(status).to.equal(201);
    const { eventId, ...facts } = readmeResponse();
    expect(eventId).to.match(/^[0-9a-f-]{36}$/);
    expect(body).to.containSubset(facts);
  });

  it('prints the request that the README shows', () => {
    const written = readCurl(readme);
    expect(written.url).to.equal(`http://127.0.0.1:7070${new URL(pasted.url).pathname}`);
    expect([written.body, Object.keys(written.headers)]).to.deep.equal([pasted.body, Object.keys(pasted.headers)]);
  });

  it('counts an event of the client library, with the lines of the README', async () => {
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(readme)!;
    const printed = 'http://127.0.0.1:7070';
    expect(code).to.include(printed);
    const script = join(root, 'examples', `.readme-${process.pid}.mjs`);
    await writeFile(script, code.replace(printed, await laurel.address()));
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [script], { env: { LAUREL_API_KEY: key } });
      expect(stdout).to.equal('Ben has viewed 5 flashcards and earned 10 points.\n');
    } finally {
      await rm(script);
    }
  });

  it('counts once what is sent twice with one Idempotency-Key', async () => {
    const address = await laurel.address();
    const replies = [await paste(address, { 'Idempotency-Key': 'once' }), await paste(address, { 'Idempotency-Key': 'once' })];
    expect(replies.map(({ status, body }) => [status, body.total])).to.deep.equal([
      [201, 200],
      [202, 200],
    ]);
    expect(replies[1]!.body.eventId).to.equal(replies[0]!.body.eventId);
  });

  it('stops everything with Ctrl-C', async () => {
    const all = processes();
    expect(living(all), 'the supervisor, an API process, the worker, Redis, Postgres').to.have.lengthOf(5);
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
    expect(laurel.log, 'empty backfills after the welcome').not.to.include('"users":0');
    expect(laurel.output).to.match(/\nStopping: .*\nStopped\.\n$/);
    expect(living(all)).to.deep.equal([]);
  });

  it('keeps all data for the next start, and prints no other key', async () => {
    const address = await start();
    expect(laurel.output).to.not.include('admin key');
    expect(await stored()).to.deep.equal({ redis: 200, postgres: [200], rowsOfTheKey: 1 });
    const { status, body } = await paste(address);
    expect([status, body.total]).to.deep.equal([201, 300]);
  });

  it('keeps all data after kill -9 of all processes', async () => {
    const survivors = servers();
    await laurel.kill();
    const address = await start();
    expect(living(survivors)).to.have.lengthOf(2);
    const { status, body } = await paste(address);
    expect([status, body.total]).to.deep.equal([201, 400]);
    expect(await laurel.stop()).to.deep.equal({ code: 0, signal: null });
    expect(living(survivors)).to.deep.equal([]);
  });

  it('writes only JSON in production, and shows the admin key whatever the level of the log', async () => {
    const other = await mkdtemp(join(tmpdir(), 'laurel-newcomer-'));
    const env = { NODE_ENV: 'production', NODE_OPTIONS: '--pending-deprecation', PORT: '0', DATA_DIR: other, API_PROCESSES: '1' };
    const linesOf = ({ output, log }: LaurelProcess): Record<string, unknown>[] =>
      [output, log].flatMap((text) => text.split('\n').slice(0, -1)).map((line) => JSON.parse(line) as Record<string, unknown>);
    try {
      const own = new LaurelProcess(fromBin, ['serve'], { ...env, LOG_LEVEL: 'fatal' });
      await own.says(/Laurel is ready/);
      await own.stop();
      const texts = linesOf(own).map(({ msg }) => msg);
      expect(texts.filter((text) => /^Its admin key, which is shown only this once: \S+$/.test(String(text)))).to.have.lengthOf(1);
      expect(texts.at(-1)).to.equal('Stopped.');

      const warned = new LaurelProcess(fromBin, ['worker'], { ...env, CORS_ORIGIN: 'https://app.example.com' });
      await warned.says(/worker is running/);
      await warned.stop();
      expect(linesOf(warned)).to.have.length.above(1);
      expect(warned.log).to.include('"variable":"CORS_ORIGIN","setting":"CORS_ORIGINS"');

      const refused = new LaurelProcess(fromBin, ['serve'], { ...env, PORT: 'x' });
      await refused.exit;
      expect(linesOf(refused).map(({ level, msg }) => [level, msg])).to.deep.equal([
        [60, 'PORT must be a whole number from 0 to 65535 (0 for any free port).'],
      ]);
    } finally {
      await killChildren();
      await removeStores(other);
    }
  });

  it('prints a request for a metric of CONFIG', async () => {
    const other = await mkdtemp(join(tmpdir(), 'laurel-newcomer-'));
    try {
      const CONFIG = await configFile({ metrics: [{ key: 'Laps_1', name: 'Laps' }] });
      const own = new LaurelProcess(fromBin, ['serve'], { PORT: '0', DATA_DIR: other, API_PROCESSES: '1', CONFIG });
      await own.says(/-d '.*'\n\n$/);
      const { url, headers, body } = readCurl(own.output);
      expect(url).to.equal(`${await own.address()}/v1/metrics/Laps_1/event`);
      expect((await fetch(url, { method: 'POST', headers, body })).status).to.equal(201);
    } finally {
      await killChildren();
      await removeStores(other);
    }
  });
});
