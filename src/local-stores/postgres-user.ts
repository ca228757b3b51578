import { OperatorError } from '../shared/errors.js';
import { lookUpProgram, runCommand, type Command, type RunAs } from './processes.js';
import type { Machine } from './redis-program.js';

/** The system user that Postgres runs as when Laurel is started by root: Postgres refuses to run as root. */
export const postgresUser = 'postgres';

/** How the user is created here: with the shadow tools, or with BusyBox; null when there are neither. */
export function planUser(name: string, lookUp: Machine['lookUp']): readonly Command[] | null {
  if (lookUp('useradd') !== null) {
    return [{ program: 'useradd', args: ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', name] }];
  }
  if (lookUp('addgroup') !== null && lookUp('adduser') !== null) {
    return [
      { program: 'addgroup', args: ['-S', name] },
      { program: 'adduser', args: ['-S', '-D', '-H', '-s', '/bin/false', '-G', name, name] },
    ];
  }
  return null;
}

async function idOf(option: '-u' | '-g', name: string): Promise<number | null> {
  const { code, output } = await runCommand({ program: 'id', args: [option, name] });
  return code === 0 && /^\d+$/.test(output) ? Number(output) : null;
}

async function findUser(name: string): Promise<RunAs | null> {
  const [uid, gid] = [await idOf('-u', name), await idOf('-g', name)];
  return uid === null || gid === null ? null : { uid, gid };
}

/**
 * The user and group that Postgres runs as under root, created when missing.
 * @throws OperatorError when it cannot be created.
 */
export async function ensureUser(name: string, log: (line: string) => void): Promise<RunAs> {
  const there = await findUser(name);
  if (there) return there;
  const commands = planUser(name, lookUpProgram) ?? [];
  if (commands.length > 0) log(`Postgres does not run as root: creating the system user ${name} for it.`);
  let problem = 'There is no useradd and no adduser.';
  for (const command of commands) problem = (await runCommand(command)).output;
  const made = await findUser(name);
  if (made) return made;
  throw new OperatorError(
    `Postgres does not run as root, and the user ${name} could not be created for it. ${problem} ` +
      'Create it, start Laurel as another user, or set DATABASE_URL to a server that runs.',
  );
}

/** Whether a user can run this check of the shell, which finds out what owners, modes, lists and mounts amount to. */
export async function canRun(runAs: RunAs | null, script: string, ...args: string[]): Promise<{ ok: boolean; output: string }> {
  const { code, output } = await runCommand({ program: '/bin/sh', args: ['-c', script, 'sh', ...args], env: { LC_ALL: 'C' }, runAs });
  return { ok: code === 0, output };
}

/** Whether a user can go into a folder: every folder above it must let that user through. */
export async function canEnter(runAs: RunAs, folder: string): Promise<boolean> {
  return (await canRun(runAs, 'cd -- "$1"', folder)).ok;
}
