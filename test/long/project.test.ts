import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect } from 'chai';
import { fromSources, killChildren, LaurelProcess } from '../support/process.js';
import { setStage, type Stage } from '../support/stage.js';

describe("Laurel in an operator's own folder", () => {
  let folder: string;
  let stage: Stage;
  before(async () => {
    stage = await setStage();
    folder = await mkdtemp(join(tmpdir(), 'laurel-project-'));
  });
  after(async () => {
    await killChildren();
    await stage.stop();
    await rm(folder, { recursive: true });
  });

  /** An empty variable counts as unset: the files of the folder set these. */
  const start = (...args: string[]): LaurelProcess =>
    new LaurelProcess(fromSources(), args, { ...stage.env, PORT: '0', CONFIG: '', ADMIN_API_KEY: '' }, { cwd: folder });

  it('has a file to watch only after laurel init', async () => {
    const refused = start('serve', '--watch');
    expect([(await refused.exit).code, refused.log]).to.deep.equal([
      1,
      'No configuration file to watch: set CONFIG to one, or run laurel init in a folder of your own.\n',
    ]);
    expect((await start('init').exit).code).to.equal(0);
  });

  it('applies laurel.yaml at the start and, with --watch, whenever it is saved, and serves on when it is refused', async () => {
    const file = join(folder, 'laurel.yaml');
    const text = await readFile(file, 'utf8');
    const { ADMIN_API_KEY: key = '' } = parseEnv(await readFile(join(folder, '.env'), 'utf8'));
    const laurel = start('--watch');
    const address = await laurel.address();
    expect(laurel.output).to.include('Configuration version 1 is active.');
    await writeFile(file, text.replace('name: Flashcards viewed', 'name: Cards viewed'));
    await laurel.says(/Configuration version 2 is active\./);
    await writeFile(file, 'metrics: 1');
    await laurel.says(/laurel\.yaml:1:\d+: /);
    // As editors save: by another file that takes its place.
    await writeFile(`${file}~`, text.replace('name: Flashcards viewed', 'name: Cards turned'));
    await rename(`${file}~`, file);
    await laurel.says(/Configuration version 3 is active\./);
    const response = await fetch(`${address}/admin/v1/configuration/file`, { headers: { 'X-API-KEY': key } });
    expect([response.status, await response.text()].join())
      .to.include('200')
      .and.include('Cards turned');
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
  });

  it('applies at the next start what was saved meanwhile', async () => {
    await writeFile(join(folder, 'laurel.yaml'), 'metrics: [{key: laps, name: Laps}]');
    const laurel = start();
    await laurel.address();
    expect(laurel.output).to.include('Configuration version 4 is active.');
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
  });
});
