import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Status } from '../../src/observe/status.js';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { listProcesses } from '../../src/local-stores/processes.js';
import { version } from '../../src/shared/version.js';
import { fromSources, killChildren, LaurelProcess, runLaurel } from '../support/process.js';
import { removeStores } from '../support/stores.js';
import { configFile, setStage, until, type Stage } from '../support/stage.js';

const config = { metrics: [{ key: 'cards', name: 'Cards' }] };

describe('The commands of an operator', () => {
  const folders: string[] = [];
  afterEach(async () => {
    await killChildren();
    for (const folder of folders.splice(0)) await removeStores(folder);
  });

  async function temporaryFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-commands-'));
    folders.push(folder);
    return folder;
  }

  it('print their version', async () => {
    expect(await runLaurel(['--version'], {})).to.include({ code: 0, output: `${version}\n`, log: '' });
  });

  it('never create stores: without addresses and a data folder they say what to set', async () => {
    const outer = await mkdtemp(join(tmpdir(), 'laurel-commands-'));
    const dataDir = join(outer, 'data');
    try {
      for (const args of [['verify'], ['keys', 'create', 'rescue'], ['apply', await configFile(config)]]) {
        const { code, output, log } = await runLaurel(args, { DATA_DIR: dataDir });
        expect([code, output, log], args[0]).to.deep.equal([
          1,
          '',
          `The data folder ${dataDir} has no Redis, and this command creates none. ` +
            'Set REDIS_URL and DATABASE_URL to the stores of the service, or DATA_DIR to its data folder.\n',
        ]);
      }
      expect(existsSync(dataDir)).to.equal(false);
    } finally {
      await rm(outer, { recursive: true });
    }
  });

  it('change no built-in stores that no service has used, unless they are to be new', async () => {
    const dataDir = await temporaryFolder();
    const file = await configFile(config);
    const env = { DATA_DIR: dataDir };
    const run = async (...args: string[]): Promise<[number | null, string]> => {
      const { code, output, target, log } = await runLaurel(args, env);
      expect(target).to.equal(`Redis: built-in, in ${dataDir} (prefix laurel); Postgres: built-in, in ${dataDir}\n`);
      return [code, code === 0 ? output : log];
    };
    expect((await run('apply', file, '--new'))[1]).to.include('Configuration version 1 is active.');
    for (const args of [
      ['apply', file],
      ['apply', file, '--dry-run'],
      ['keys', 'create', 'rescue'],
      ['keys', 'revoke', 'x'],
      ['restore'],
    ]) {
      const [code, log] = await run(...args);
      expect([
        code,
        log.includes(`No service has used the built-in stores in ${dataDir} yet, and this command would change them. `),
      ]).to.deep.equal([1, true]);
    }
    expect((await run('keys', 'create', 'rescue', '--new'))[0]).to.equal(0);
    expect((await run('keys'))[1]).to.match(/^\S+ {2}active .*rescue\n$/);

    const service = new LaurelProcess(fromSources(), ['serve'], { ...env, PORT: '0', API_PROCESSES: '1' });
    await service.address();
    await service.stop('SIGINT');
    expect(service.output).to.match(/^Redis: built-in, in /);
    expect((await run('apply', file))[1]).to.include('nothing');
  });

  it('never create a Postgres beside a Redis that is there', async () => {
    const dataDir = await temporaryFolder();
    await (await startLocalRedis({ dataDir, log: () => undefined })).stop();
    const { code, log } = await runLaurel(['verify'], { DATA_DIR: dataDir });
    expect(code).to.equal(1);
    expect(log).to.include(`The data folder ${dataDir} has no Postgres, and this command creates none. `);
    expect(existsSync(join(dataDir, 'postgres'))).to.equal(false);
  });

  it('find out that a port is taken before they create stores', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const outer = await mkdtemp(join(tmpdir(), 'laurel-commands-'));
    for (const [variable, other] of [
      ['PORT', 'METRICS_PORT'],
      ['METRICS_PORT', 'PORT'],
    ] as const) {
      const env = { [variable]: String(port), [other]: '0', DATA_DIR: join(outer, 'data') };
      const { code, output, log } = await runLaurel(['serve'], env);
      const sentence = `Port ${port} of 127.0.0.1 is in use: set ${variable} to another port.\n`;
      expect([code, output, log]).to.deep.equal([1, '', sentence]);
    }
    taken.close();
    expect(existsSync(join(outer, 'data'))).to.equal(false);
    await rm(outer, { recursive: true });
  });

  it('leave no stores running when Ctrl-C ends them', async () => {
    const dataDir = await temporaryFolder();
    for (const start of [startLocalRedis, startLocalPostgres]) await (await start({ dataDir, log: () => undefined })).stop();
    const command = new LaurelProcess(fromSources(), ['verify'], { DATA_DIR: dataDir });
    await until('its Redis', () => /^Redis runs /m.test(command.log));
    const { code } = await command.stop('SIGINT');
    expect(code).to.equal(1);
    expect(command.log).to.include('Interrupted');
    expect(listProcesses().filter(({ command: line }) => line.includes(dataDir))).to.deep.equal([]);
  });
});

describe('laurel status', () => {
  const unreached = 'has reached this Postgres in the last 10 seconds: none is running, or none can connect.';
  const noProcess = `No worker ${unreached}\nNo process of the API ${unreached}\n`;
  let stage: Stage;
  before(async () => {
    stage = await setStage({ env: { CONFIG: await configFile(config), AUTO_RESTORE: '0' } });
  });
  after(async () => {
    await killChildren();
    await stage.stop();
  });

  const report = async (): Promise<{ code: number | null; status: Status; log: string }> => {
    const { code, output, log } = await runLaurel(['status', '--json'], stage.env);
    return { code, status: JSON.parse(output) as Status, log };
  };

  it('exits with 0 when everything is in order, and with 1 and a sentence for each problem', async () => {
    const service = new LaurelProcess(fromSources(), ['serve'], { ...stage.env, PORT: '0', API_PROCESSES: '2' });
    await service.address();
    const { code, output, log } = await runLaurel(['status'], stage.env);
    expect([code, log]).to.deep.equal([0, '']);
    for (const [name, pid] of service.processes()) {
      const role = name.replace(/-\d+$/, '');
      expect(output).to.match(new RegExp(`^ {2}${role} on \\S+, process ${pid}, Redis redis://localhost:`, 'm'));
    }
    expect(output)
      .to.match(/^Processes {2}3$/m)
      .and.to.match(/^ {2}Default: in sync, epoch \S+, committed /m);
    await service.stop();
    const before = await stage.redis.hgetall(`${stage.partition}meta`);
    const stopped = await report();
    expect([stopped.code, stopped.log]).to.deep.equal([1, noProcess]);
    expect(stopped.status.listed?.map(({ name, state }) => [name, state])).to.deep.equal([['Default', 'in sync']]);
    expect(await stage.redis.hgetall(`${stage.partition}meta`), 'it changes nothing').to.deep.equal(before);
  });

  it('distinguishes a Redis out of sync from one in sync, and reports a store that does not respond', async () => {
    await stage.pool.query(`update stream_offsets set last_ms = last_ms + 1000000000000`);
    const behind = await report();
    expect(behind.log).to.equal(`${noProcess}Redis is out of sync for 1 tenant.\n`);
    await stage.redis.hset(`${stage.partition}meta`, 'restoring', 'an epoch', 'restoredUsers', '7');
    const [half] = (await report()).status.listed ?? [];
    expect([half?.state, half?.restored]).to.deep.equal(['restoring', 7]);
    const { code, output, log } = await runLaurel(['status'], { ...stage.env, REDIS_URL: 'redis://127.0.0.1:1' });
    expect(code).to.equal(1);
    expect(log).to.match(
      /^Redis does not respond \(.*\nUnknown without Redis: .*\nNo worker has reached this Postgres .*\nNo process of the API has .*\n$/,
    );
    expect(output)
      .to.match(/^Redis {6}unknown$/m)
      .and.to.match(/^Ledger {5}unknown$/m)
      .and.to.match(/^Tenants {4}1$/m);
  });

  it('prints what is not known without Postgres as unknown, and the lag of the ledger from Redis', async () => {
    await stage.redis.xadd(`${stage.partition}ledger`, '*', 'e', '');
    const { code, output, log } = await runLaurel(['status'], { ...stage.env, DATABASE_URL: 'postgres://laurel@127.0.0.1:1/laurel' });
    await stage.redis.xtrim(`${stage.partition}ledger`, 'MAXLEN', 0);
    expect(code).to.equal(1);
    expect(output)
      .to.match(/^Postgres {3}unknown$/m)
      .and.to.match(/^Processes {2}unknown$/m)
      .and.to.match(/^Leases {5}unknown$/m)
      .and.to.match(/^Ledger {5}1 entry, \d+\.\d s behind$/m)
      .and.to.match(/^Tenants {4}unknown$/m);
    expect(log).to.match(
      /^Postgres does not respond \(.*\nUnknown without Postgres: the processes, .* The lag of the ledgers is that of the default tenant.*\n$/,
    );
  });
});

describe('laurel verify', () => {
  let stage: Stage;
  before(async () => {
    stage = await setStage({ env: { CONFIG: await configFile(config), AUTO_RESTORE: '0' } });
    const service = new LaurelProcess(fromSources(), ['serve'], { ...stage.env, PORT: '0' });
    const address = await service.address();
    const body = JSON.stringify({ user: { id: 'ana' }, value: 1 });
    const headers = { 'x-api-key': stage.env.ADMIN_API_KEY!, 'content-type': 'application/json' };
    expect((await fetch(`${address}/v1/metrics/cards/event`, { method: 'POST', headers, body })).status).to.equal(201);
    await service.stop();
  });
  after(async () => {
    await killChildren();
    await stage.stop();
  });

  it('refuses a file that it cannot write before it compares anything', async () => {
    const { code, output, log } = await runLaurel(['verify', '--json', '/nowhere/report.json'], stage.env);
    expect([code, output]).to.deep.equal([1, '']);
    expect(log).to.match(/^The file \/nowhere\/report\.json can't be written: ENOENT.*\n$/);
  });

  it('prints a line of progress when its output is piped', async () => {
    const { code, output, log } = await runLaurel(['verify'], stage.env);
    expect([code, output]).to.deep.equal([0, '1 user of the default tenant: 0 differences.\n']);
    expect(log)
      .to.match(/^Comparing the default tenant: 0% {2}\| {2}/m)
      .and.to.match(/^Comparing the default tenant: 100%.*1 of 1 users/m);
    expect(log).not.to.include('█');
  });

  it('says in a sentence that a Redis is out of sync', async () => {
    await stage.redis.del(`${stage.partition}meta`);
    await stage.redis.function('FLUSH');
    const { code, output, log } = await runLaurel(['verify'], stage.env);
    expect(code).to.equal(1);
    expect(output).to.match(/^The default tenant is out of sync\. Redis is behind Postgres: .* run laurel restore\.\n$/);
    expect(log).to.equal('Redis is out of sync for 1 tenant: their users were not compared.\n');
  });
});
