import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { adminKey } from '../support/world.js';
import { fromBin, killChildren, LaurelProcess } from '../support/process.js';
import { setStage, type Stage } from '../support/stage.js';

const run = promisify(execFile);
/** The oldest and the newest version that the README names. */
const versions = [20, 26];

describe('The Node.js versions of the README', () => {
  let folder: string;
  let stage: Stage;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-node-'));
    stage = await setStage();
  });
  after(async () => {
    await killChildren();
    await stage.stop();
    await rm(folder, { recursive: true });
  });

  it('agree with package.json', async () => {
    const read = (name: string): Promise<string> => readFile(new URL(`../../${name}`, import.meta.url), 'utf8');
    expect((JSON.parse(await read('package.json')) as { engines: { node: string } }).engines.node).to.equal(`>=${versions[0]}`);
    expect(await read('README.md')).to.match(new RegExp(`Node\\.js: ${versions[0]}, .*and ${versions[1]} work`));
  });

  for (const version of versions) {
    it(`run Laurel, which starts, counts an event and stops: ${version}`, async () => {
      // The package of the program itself: the package "node" fetches it in an install script, which npm may refuse.
      const name = `node-${process.platform}-${process.arch}`;
      const prefix = join(folder, String(version));
      await run('npm', ['install', '--prefix', prefix, '--no-save', '--no-audit', '--no-fund', `${name}@${version}`]);
      const node = join(prefix, 'node_modules', name, 'bin', 'node');
      expect((await run(node, ['--version'])).stdout).to.match(new RegExp(`^v${version}\\.`));
      const laurel = new LaurelProcess(fromBin, ['serve'], { ...stage.env, PORT: '0', LOG_LEVEL: 'warn' }, { node });
      const response = await fetch(`${await laurel.address()}/v1/metrics/flashcards-viewed/event`, {
        method: 'POST',
        headers: { 'X-API-KEY': adminKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({ user: { id: `user-${version}` }, value: 5 }),
      });
      expect([response.status, ((await response.json()) as { total: number }).total]).to.deep.equal([201, 5]);
      expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
      expect(laurel.log, 'warnings of Node').not.to.include('Node.js warning');
    });
  }
});
