import { spawnSync } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stores } from './stores.js';
import { adminKey, type Reply, type RequestOptions, type World } from './world.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the page of the dashboard into a folder of its own. */
export async function buildPage(): Promise<string> {
  const folder = await mkdtemp(join((await stores()).folder, 'page-'));
  const { status, stderr } = spawnSync(process.execPath, [join('bin', 'page.mjs'), folder], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the page can't be built: ${stderr}`);
  return folder;
}

/** The header of the page's requests. */
export const ofPage = { 'x-laurel-dashboard': '1' } as const;

export const signIn = (world: World, key: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  world.request('POST', '/dashboard/session', { body: { key }, key: null, headers: { ...ofPage, ...headers } });

/** The cookie of a response that signs in, as later requests send it. */
export function cookieOf({ headers }: Reply): string {
  const [cookie] = headers.getSetCookie().filter((text) => !/=;/.test(text));
  if (cookie === undefined) throw new Error('the response sets no cookie');
  return cookie.slice(0, cookie.indexOf(';'));
}

/** Signs in, and returns the cookie. */
export async function signedIn(world: World, key: string = adminKey): Promise<string> {
  const reply = await signIn(world, key);
  if (reply.status !== 201) throw new Error(`signing in failed: ${reply.status} ${JSON.stringify(reply.body)}`);
  return cookieOf(reply);
}

/** A request of the page, by session and without an API key. */
export const asPage = (
  world: Pick<World, 'request'>,
  cookie: string | null,
  [method, path]: readonly [method: string, path: string],
  { headers = {}, ...rest }: RequestOptions = {},
): Promise<Reply> =>
  world.request(method, path, { ...rest, key: null, headers: { ...ofPage, ...(cookie === null ? {} : { cookie }), ...headers } });
