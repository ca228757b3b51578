import { readFileSync } from 'node:fs';

const source = readFileSync(new URL('../../src/dashboard/page/app/screens.tsx', import.meta.url), 'utf8');

/** The paths of all screens, as src/dashboard/page/app/screens.tsx registers them. */
const screenPaths: readonly string[] = [...source.matchAll(/\bpath: '([^']+)',\s*screen:/g)].map(([, path]) => path!);

/** What the parameters of a path stand for, by the path. */
export type ScreenSamples = Readonly<Record<string, readonly string[]>>;

function fill(path: string, sample: string): string {
  const count = path.split(':').length - 1;
  const parts = count === 1 ? [sample] : sample.split('/');
  return path.replaceAll(/:\w+\??/g, () => encodeURIComponent(parts.shift() ?? ''));
}

/**
 * The addresses of all screens, below `/dashboard`. A path with parameters has one address for each of its samples. A sample has the values of the
 * parameters in their order, joined by a slash; the value of a single parameter may hold slashes. Throws for a path without a sample: a new screen must be looked at too.
 */
export function screenAddresses(samples: ScreenSamples): string[] {
  const unknown = Object.keys(samples).filter((path) => !screenPaths.includes(path));
  if (unknown.length > 0) throw new Error(`There are samples of screens that do not exist: ${unknown.join(', ')}`);
  return screenPaths.flatMap((path) => {
    if (!path.includes(':')) return [path];
    const values = samples[path];
    if (!values || values.length === 0) throw new Error(`The screen ${path} has no sample.`);
    return values.map((value) => fill(path, value));
  });
}
