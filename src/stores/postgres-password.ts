import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';

/** Empty when there is no such file. */
export async function readIfThere(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
}

/** The password in a file; a random one is written there when there is none. */
export async function obtainPassword(file: string): Promise<string> {
  const kept = (await readIfThere(file)).trim();
  if (kept !== '') return kept;
  const password = randomBytes(24).toString('base64url');
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return password;
}
