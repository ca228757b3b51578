import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readlink, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const script = fileURLToPath(new URL('../../bin/prepare.mjs', import.meta.url));
const refusal =
  'node_modules is a symbolic link to a folder that does not hold what package-lock.json says, and npm ci would empty that folder. ' +
  'Bring it up to date where it is, or remove the link and start again.\n';

/** A checkout that needs no package, beside another one whose node_modules it shares by a link. */
describe('A checkout whose node_modules is a symbolic link', () => {
  let folder: string;
  let checkout: string;
  let shared: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-prepare-'));
    [checkout, shared] = [join(folder, 'checkout'), join(folder, 'other', 'node_modules')];
    await mkdir(join(shared, 'typescript-native'), { recursive: true });
    await writeFile(join(shared, 'typescript-native', 'package.json'), '{}');
    await mkdir(join(checkout, 'bin'), { recursive: true });
    await cp(script, join(checkout, 'bin', 'prepare.mjs'));
    const named = { name: 'checkout', version: '1.0.0' };
    await writeFile(join(checkout, 'package.json'), JSON.stringify(named));
    await writeFile(join(checkout, 'package-lock.json'), JSON.stringify({ ...named, lockfileVersion: 3, packages: { '': named } }));
    await symlink(shared, join(checkout, 'node_modules'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function run(...args: string[]): { status: number | null; said: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(checkout, 'bin', 'prepare.mjs'), ...args], { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  }

  for (const args of [[], ['build']]) {
    it(`is not installed into (${['prepare', ...args].join(' ')}): the folder keeps what it has`, async () => {
      const before = await readdir(shared, { recursive: true });
      expect(run(...args)).to.deep.equal({ status: 1, said: refusal });
      expect(await readdir(shared, { recursive: true })).to.deep.equal(before);
      expect(await readlink(join(checkout, 'node_modules'))).to.equal(shared);
    });
  }

  it('is not installed into when it leads nowhere', async () => {
    await rm(shared, { recursive: true });
    expect(run()).to.deep.equal({ status: 1, said: refusal });
    expect(await readlink(join(checkout, 'node_modules'))).to.equal(shared);
  });

  it('is used as it is when the folder holds what package-lock.json says, and nothing is written there', async () => {
    await writeFile(join(shared, '.package-lock.json'), '{}');
    await utimes(join(checkout, 'package-lock.json'), 1, 1);
    const before = await readdir(shared, { recursive: true });
    expect(run()).to.deep.equal({ status: 0, said: '' });
    expect(await readdir(shared, { recursive: true })).to.deep.equal(before);
  });
});
