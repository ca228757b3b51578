import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { processStart } from '../../src/local-stores/processes.js';
import { Client } from '../support/client.js';
import { fromSources, killChildren, LaurelProcess, runLaurel } from '../support/process.js';
import { removeStores } from '../support/stores.js';

const story = ['--users', '8', '--seed', '7', '--until', '2026-07-31'];
const boards = ['all-time', 'top-points', 'streaks', 'weekly'];

/** What a demo shows, without ids and moments that no seed decides. */
interface Shown {
  readonly users: readonly unknown[];
  readonly boards: readonly unknown[];
  readonly now: unknown;
}

describe('The demo', () => {
  const folders: string[] = [];
  let first: string;
  let shown: Shown;

  const newFolder = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-demo-'));
    folders.push(folder);
    return folder;
  };
  const start = (folder: string, more: readonly string[] = []): LaurelProcess =>
    new LaurelProcess(fromSources(), ['demo', ...story, '--folder', folder, ...more], { PORT: '0', API_PROCESSES: '1' });

  before(async () => {
    first = await newFolder();
  });
  after(async () => {
    await killChildren();
    for (const folder of folders) await removeStores(folder);
  });

  async function keyOf(folder: string): Promise<string> {
    return (JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8')) as { key: string }).key;
  }

  async function read(laurel: LaurelProcess, folder: string): Promise<Shown> {
    const address = await laurel.address();
    const client = new Client(await keyOf(folder), 4);
    const get = async (path: string): Promise<unknown> => {
      const { status, body } = await client.send(address, 'GET', path);
      expect(status, path).to.equal(200);
      return body;
    };
    try {
      const users = (await get('/admin/v1/users?limit=100')) as { id: string }[];
      const each = users.map(async ({ id }) => {
        const [points, streak] = (await Promise.all([get(`/v1/users/${id}/points/points`), get(`/v1/users/${id}/streak`)])) as [
          { total: number; level: { key: string } | null },
          { length: number; freezes: number },
        ];
        return { id, points: points.total, level: points.level?.key, length: streak.length, freezes: streak.freezes };
      });
      const rankings = boards.map(async (board) => {
        const { rankings: ranked } = (await get(`/v1/leaderboards/${board}`)) as { rankings: { userId: string; value: number }[] };
        return { board, ranked: ranked.map(({ userId, value }) => `${userId} ${value}`) };
      });
      return { users: await Promise.all(each), boards: await Promise.all(rankings), now: await get('/admin/v1/clock') };
    } finally {
      client.close();
    }
  }

  it('fills a month through the API of its own service, with streaks, levels and boards', async function () {
    this.timeout(300_000);
    const laurel = start(first);
    shown = await read(laurel, first);
    expect(laurel.output).to.match(/\nIts dashboard is at http:\S+\/dashboard: sign in with the key \S+\n/);
    expect(shown.now).to.deep.equal({ now: '2026-07-31T21:00:00.000Z' });
    const users = shown.users as { points: number; level?: string; length: number }[];
    expect(users).to.have.lengthOf(8);
    expect(users.filter(({ points }) => points > 0)).to.have.length.above(5);
    expect(Math.max(...users.map(({ length }) => length))).to.be.above(7);
    expect(new Set(users.map(({ level }) => level)).size).to.be.above(2);
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
  });

  it('leaves Redis and Postgres without a difference', async () => {
    const { code, output } = await runLaurel(['verify'], { DATA_DIR: first });
    expect(code, output).to.equal(0);
  });

  it('is served again with the same data and the same key', async () => {
    const key = await keyOf(first);
    const laurel = start(first);
    expect(await read(laurel, first)).to.deep.equal(shown);
    expect(laurel.output).to.include(key).and.not.include('Playing');
    const second = start(first, ['--fresh']);
    expect((await second.exit).code).to.equal(1);
    expect(second.log).to.match(/^Another Laurel process uses the server in .*: stop it first\.\n$/);
    await laurel.stop('SIGINT');
  });

  it('has the same totals for the same seed, and starts anew after it was interrupted', async function () {
    this.timeout(300_000);
    const folder = await newFolder();
    const interrupted = start(folder);
    await interrupted.says(/^Playing/m);
    expect((await interrupted.stop('SIGINT')).code).to.equal(0);
    expect(interrupted.output).not.to.include('is ready');
    const laurel = start(folder);
    expect(await read(laurel, folder)).to.deep.equal(shown);
    await laurel.stop('SIGINT');
  });

  it('stops its stores when it is interrupted before it serves', async () => {
    const interrupted = start(await newFolder());
    const [, redis] = await interrupted.says(/^Redis runs as process (\d+)\./m);
    const [, postgres] = await interrupted.says(/^Postgres runs as process (\d+)\./m);
    expect((await interrupted.stop('SIGINT')).code).to.equal(0);
    expect(interrupted.output).not.to.include('is ready');
    for (const pid of [redis, postgres]) expect(processStart(Number(pid)), pid).to.equal(null);
  });

  it('refuses a folder that holds anything else, and leaves it as it is', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-demo-'));
    await writeFile(join(folder, 'notes.txt'), 'mine');
    const { code, log } = await runLaurel(['demo', '--fresh', '--folder', folder], {});
    expect([code, log]).to.deep.equal([1, `The folder ${folder} is not empty and is not a demo: choose another one with --folder.\n`]);
    expect(await readFile(join(folder, 'notes.txt'), 'utf8')).to.equal('mine');
  });

  it('names an option that it cannot use', async () => {
    const { code, log } = await runLaurel(['demo', '--until', '2026-02-30'], {});
    expect(code).to.equal(1);
    expect(log).to.include('It must be a valid date in the form YYYY-MM-DD.');
  });
});
