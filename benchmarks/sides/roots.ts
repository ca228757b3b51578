import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this checkout. */
export const ownRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A checkout that is measured. */
export interface SideRoot {
  readonly side: 'ours' | 'theirs';
  readonly root: string;
}

/** This checkout, and the one that it is compared with. Throws when that is not the root of one. */
export function sideRoots(against: string | undefined): SideRoot[] {
  if (against === undefined) return [{ side: 'ours', root: ownRoot }];
  const root = resolve(against);
  if (!existsSync(join(root, 'src', 'engine', 'engine.ts'))) throw new Error(`${root} is not the root of a checkout of Laurel.`);
  return [
    { side: 'ours', root: ownRoot },
    { side: 'theirs', root },
  ];
}
