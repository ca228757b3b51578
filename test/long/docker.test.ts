import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import dockerignore from '@balena/dockerignore';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

/** What the Dockerfile copies from the checkout: all arguments but the last, which is the target, of each COPY without `--from`. */
const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from=)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));

describe('The Dockerfile', () => {
  it('copies files and folders that exist and that .dockerignore admits', () => {
    const ignored = dockerignore.default().add(read('.dockerignore'));
    expect(copied).to.include.members(['package.json', 'src', 'templates']);
    expect(copied.filter((name) => !existsSync(join(root, name)))).to.deep.equal([]);
    expect(copied.filter((name) => ignored.ignores(name))).to.deep.equal([]);
  });
});
