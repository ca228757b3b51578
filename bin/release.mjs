/**
 * Makes a release from main, or the files of the version that is checked out: docs/releases.md.
 *
 *     npm run release -- minor --dry-run
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const usage = 'Usage: npm run release -- patch|minor|major|1.2.3 [--dry-run] [--no-image], or npm run release -- files [--no-image]';

/** A failure whose message is enough for whom it stops. */
const stopped = (message) => Object.assign(new Error(message), { name: 'OperatorError' });

/** Runs a program in a folder and returns its output. Its messages go to standard error. */
function run(folder, program, ...args) {
  const options = { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2, stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout, error } = spawnSync(program, args, options);
  if (status !== 0) throw stopped(`${program} ${args[0]} ${error?.message ?? 'failed'}. What it said is above.`);
  return stdout.trim();
}

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** The version to release: one that is named, or the current one with a part that grows. */
function nextVersion(current, wanted) {
  const grows = ['major', 'minor', 'patch'].indexOf(wanted);
  const parts = current.split('.').map(Number);
  if (grows >= 0) return parts.map((part, i) => (i < grows ? part : i === grows ? part + 1 : 0)).join('.');
  if (!/^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)$/.test(wanted)) throw stopped(usage);
  const named = wanted.split('.').map(Number);
  const differs = parts.findIndex((part, i) => part !== named[i]);
  if (differs >= 0 && named[differs] < parts[differs]) throw stopped(`${wanted} is older than ${current}, the version of package.json.`);
  return wanted;
}

/** The changelog with its unreleased section under the version and today's date (UTC), below an empty one. */
function datedChangelog(text, version) {
  const unreleased = text.split(/^## /m).find((section) => section.startsWith('Unreleased\n'));
  if (!unreleased?.slice('Unreleased\n'.length).trim())
    throw stopped('CHANGELOG.md has nothing under "## Unreleased": say there what the release changes.');
  return text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${new Date().toISOString().slice(0, 10)})`);
}

function writeVersion(folder, version) {
  for (const name of ['package.json', 'package-lock.json']) {
    const content = readJson(join(folder, name));
    content.version = version;
    if (content.packages) content.packages[''].version = version;
    writeFileSync(join(folder, name), `${JSON.stringify(content, null, 2)}\n`);
  }
  const manifest = join(folder, 'deploy/kubernetes/base/kustomization.yaml');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/^( *newTag: ).*$/m, `$1${version}`));
}

/** The programs that build images, in order of preference, and how each writes one into a file for `docker load` or `podman load`. */
const builders = {
  docker: { build: ['build'], save: (tag, file) => ['save', '--output', file, tag] },
  podman: { build: ['build', '--format', 'docker'], save: (tag, file) => ['save', '--output', file, tag] },
  buildah: { build: ['build', '--format', 'docker'], save: (tag, file) => ['push', tag, `docker-archive:${file}:${tag}`] },
};

/** Builds the image into a file, and leaves none in the store of the builder. */
function buildImage(folder, tag, file) {
  const runs = (name) => spawnSync(name, ['info'], { stdio: 'ignore', timeout: 30_000 }).status === 0;
  const builder = Object.keys(builders).find(runs);
  if (builder === undefined) {
    console.log('No image was built, because neither docker nor podman nor buildah runs here.');
    return;
  }
  const { build, save } = builders[builder];
  run(folder, builder, ...build, '--tag', tag, '.');
  run(folder, builder, ...save(tag, file));
  run(folder, builder, 'rmi', tag);
}

/** Builds the version of a folder into its `release`: npm package, bill of materials, image, and the checksums of all of them. */
function buildFiles(folder, { hasImage }) {
  const target = join(folder, 'release');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  const { name, version } = readJson(join(folder, 'package.json'));
  run(folder, 'npm', 'pack', '--silent', '--pack-destination', target);
  const materials = run(folder, 'npm', 'run', '--silent', 'sbom');
  writeFileSync(join(target, `${name}-${version}.cdx.json`), `${materials}\n`);
  if (hasImage) buildImage(folder, `${name}:${version}`, join(target, `${name}-${version}-image.tar`));
  const files = readdirSync(target).sort();
  const hash = (file) =>
    createHash('sha256')
      .update(readFileSync(join(target, file)))
      .digest('hex');
  writeFileSync(join(target, 'SHA256SUMS'), files.map((file) => `${hash(file)}  ${file}\n`).join(''));
  console.log(`Built ${[...files, 'SHA256SUMS'].join(', ')}.`);
}

/** A clone of main with the commit of the release and its tag, by the author who is set for this repository. */
function commitRelease(clone, version, changelog) {
  run(root, 'git', 'clone', '--quiet', '--branch', 'main', root, clone);
  for (const name of ['user.name', 'user.email']) {
    const value = run(root, 'git', 'config', '--default', '', '--get', name);
    if (value !== '') run(clone, 'git', 'config', name, value);
  }
  writeVersion(clone, version);
  writeFileSync(join(clone, 'CHANGELOG.md'), changelog);
  run(clone, 'git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
  run(clone, 'git', 'tag', '--annotate', '--message', `Laurel ${version}`, `v${version}`);
}

/** Commits, tags and builds in a temporary clone, and takes the result over at the end: a failure leaves this repository as it was. */
function release(wanted, { isDryRun, hasImage }) {
  const version = nextVersion(readJson(join(root, 'package.json')).version, wanted);
  const tag = `v${version}`;
  const branch = run(root, 'git', 'branch', '--show-current');
  if (branch !== 'main') throw stopped(`Releases are made from main, and ${branch === '' ? 'no branch' : branch} is checked out.`);
  if (run(root, 'git', 'status', '--porcelain') !== '') throw stopped('The working tree has changes: commit or stash them.');
  if (run(root, 'git', 'tag', '--list', tag) !== '') throw stopped(`The tag ${tag} already exists.`);
  const changelog = datedChangelog(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const clone = mkdtempSync(join(tmpdir(), 'laurel-release-'));
  // Ctrl-C also ends the program that runs: it fails, and the clone is removed.
  process.on('SIGINT', () => undefined);
  try {
    commitRelease(clone, version, changelog);
    buildFiles(clone, { hasImage });
    if (isDryRun) {
      console.log('Nothing was changed: this was a dry run.');
      return;
    }
    const target = join(root, 'release');
    rmSync(target, { recursive: true, force: true });
    cpSync(join(clone, 'release'), target, { recursive: true });
    run(root, 'git', 'fetch', '--quiet', '--no-tags', clone, 'main');
    run(root, 'git', 'merge', '--quiet', '--ff-only', 'FETCH_HEAD');
    run(root, 'git', 'fetch', '--quiet', clone, 'tag', tag);
    console.log(`Released ${version} into release. Publish it: git push --atomic origin main ${tag}`);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}

function readArguments() {
  const options = { 'dry-run': { type: 'boolean', default: false }, 'no-image': { type: 'boolean', default: false } };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch {
    throw stopped(usage);
  }
}

try {
  const { values, positionals } = readArguments();
  const [wanted] = positionals;
  const isDryRun = values['dry-run'];
  const hasImage = !values['no-image'];
  // Without `--`, npm takes `--dry-run` for itself, and the release would be a real one.
  const isForNpm = process.env.npm_config_dry_run === 'true';
  if (positionals.length !== 1 || isForNpm || (wanted === 'files' && isDryRun)) throw stopped(usage);
  if (wanted === 'files') buildFiles(root, { hasImage });
  else release(wanted, { isDryRun, hasImage });
} catch (error) {
  console.error(error.name === 'OperatorError' ? error.message : error);
  process.exitCode = 1;
}
