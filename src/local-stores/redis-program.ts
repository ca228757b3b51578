import { OperatorError } from '../shared/errors.js';
import { lookUpProgram, runCommand, type Command, type RunCommand } from './processes.js';

/** What finding and installing Redis needs of the machine. A parameter, so that tests change no machine. */
export interface Machine {
  /** The path of a program, or null. */
  readonly lookUp: (program: string) => string | null;
  readonly run: RunCommand;
  readonly isRoot: boolean;
  /** Whether a terminal is there to ask for sudo's password. */
  readonly isInteractive: boolean;
}

export const thisMachine: Machine = {
  lookUp: lookUpProgram,
  run: runCommand,
  isRoot: process.getuid?.() === 0,
  isInteractive: process.stdin.isTTY,
};

export interface InstallPlan {
  /** Printed for the operator before the first command. */
  readonly announcement: string;
  /** Tried in order until one leads to a Redis that is new enough: distributions have Redis, Valkey, or both. */
  readonly attempts: readonly (readonly Command[])[];
}

const whatToDo =
  'Install Redis 7.0 or newer, or Valkey 7.2 or newer, so that redis-server or valkey-server is on the PATH, or set REDIS_URL to a server that runs.';

interface PackageManager {
  readonly program: string;
  /** Packages to try, in order. The first is the most likely to be new enough. */
  readonly packages: readonly string[];
  /** Runs before the installation. */
  readonly update?: readonly string[];
  readonly install: readonly string[];
  /** Set with `env`, since sudo drops our environment. */
  readonly environment?: string;
  /** Whether it needs root. Homebrew refuses root. */
  readonly asRoot: boolean;
  /** A further sentence of the announcement. */
  readonly note?: string;
}

const packageManagers: readonly PackageManager[] = [
  {
    program: 'apt-get',
    packages: ['redis-server'],
    update: ['update'],
    // Another apt-get may hold the lock, as in the first minutes of many cloud machines.
    install: ['-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends'],
    environment: 'DEBIAN_FRONTEND=noninteractive',
    asRoot: true,
    note: 'Debian also starts it as a service on port 6379, which Laurel does not use.',
  },
  // Fedora and Red Hat have Valkey where they have no Redis, or one that is too old.
  { program: 'dnf', packages: ['valkey', 'redis'], install: ['install', '-y'], asRoot: true },
  { program: 'apk', packages: ['valkey', 'redis'], install: ['add', '--no-cache'], asRoot: true },
  { program: 'pacman', packages: ['valkey', 'redis'], install: ['-S', '--noconfirm', '--needed'], asRoot: true },
  { program: 'brew', packages: ['redis', 'valkey'], install: ['install'], asRoot: false },
];

/** How to install Redis on this machine; null without a known package manager, or without the rights to use it. */
export function planInstall({ lookUp, isRoot, isInteractive }: Omit<Machine, 'run'>): InstallPlan | null {
  const manager = packageManagers.find(({ program, asRoot }) => lookUp(program) !== null && (asRoot || !isRoot));
  if (!manager) return null;
  const needsSudo = manager.asRoot && !isRoot;
  if (needsSudo && lookUp('sudo') === null) return null;
  // Without a terminal, a sudo that needs a password must fail and not wait.
  const sudo = isInteractive ? ['sudo'] : ['sudo', '-n'];
  const command = (args: readonly string[]): Command => {
    const [program = manager.program, ...rest] = [
      ...(needsSudo ? sudo : []),
      ...(manager.environment ? ['env', manager.environment] : []),
      manager.program,
      ...args,
    ];
    return { program, args: rest };
  };
  const update = manager.update ? [command(manager.update)] : [];
  return {
    announcement: [
      `Redis is not on this machine: installing it with ${needsSudo ? 'sudo ' : ''}${manager.program}.`,
      ...(manager.note ? [manager.note] : []),
    ].join(' '),
    attempts: manager.packages.map((name) => [...update, command([...manager.install, name])]),
  };
}

/** The lowest versions with persistent functions and listpacks, which Laurel needs. */
const lowestVersions: Readonly<Record<string, readonly [major: number, minor: number]>> = { Redis: [7, 0], Valkey: [7, 2] };

/** Whether the first line of `redis-server --version` names a server that is new enough. */
export function isNewEnough(version: string): boolean {
  const match = /\b(Redis|Valkey) server v=(\d+)\.(\d+)/i.exec(version);
  if (!match) return false;
  const [name = '', major, minor] = [match[1], Number(match[2]), Number(match[3])];
  const lowest = lowestVersions[name.charAt(0).toUpperCase() + name.slice(1).toLowerCase()];
  return lowest !== undefined && (major > lowest[0] || (major === lowest[0] && minor >= lowest[1]));
}

interface Finding {
  /** A server that is new enough. */
  readonly program: string | null;
  /** The servers that are too old, as texts. */
  readonly unfit: readonly string[];
}

async function find({ lookUp, run }: Machine): Promise<Finding> {
  const unfit: string[] = [];
  for (const name of ['redis-server', 'valkey-server']) {
    const program = lookUp(name);
    if (program === null) continue;
    const { output } = await run({ program, args: ['--version'] });
    if (isNewEnough(output)) return { program, unfit };
    unfit.push(`${program} is “${output.split('\n')[0]?.slice(0, 100) ?? ''}”`);
  }
  return { program: null, unfit };
}

/**
 * The path of a Redis or Valkey that is new enough, installed with the system's package manager if there is none. A server that is too old is left
 * alone: another program may need it, and the package manager would most likely install the same version again.
 * @throws OperatorError that says what to do.
 */
export async function findOrInstallRedis(machine: Machine, log: (line: string) => void): Promise<string> {
  const found = await find(machine);
  if (found.program !== null) return found.program;
  if (found.unfit.length > 0) throw new OperatorError(`The Redis on this machine is too old: ${found.unfit.join('; ')}. ${whatToDo}`);
  const plan = planInstall(machine);
  if (!plan)
    throw new OperatorError(`Redis is not on this machine, and there is no package manager that Laurel may install it with. ${whatToDo}`);
  log(plan.announcement);
  return install(machine, plan);
}

async function install(machine: Machine, plan: InstallPlan): Promise<string> {
  let problem = '';
  for (const commands of plan.attempts) {
    problem = (await runAll(machine.run, commands)) ?? '';
    const { program, unfit } = await find(machine);
    if (program !== null) return program;
    problem ||=
      unfit.length > 0 ? `It brought one that is too old: ${unfit.join('; ')}.` : 'It brought no redis-server and no valkey-server.';
  }
  throw new OperatorError(`Redis could not be installed. ${problem} ${whatToDo}`);
}

/** Runs the commands until one fails. Returns the failure, or null. */
async function runAll(run: RunCommand, commands: readonly Command[]): Promise<string | null> {
  for (const command of commands) {
    const { code, output } = await run(command);
    const isUpdate = command.args.at(-1) === 'update';
    // A list of packages that could not be refreshed in full (one dead mirror) may still suffice.
    if (code !== 0 && !isUpdate) {
      return `“${[command.program, ...command.args].join(' ')}” failed: ${output.split('\n').slice(-3).join(' ')}`;
    }
  }
  return null;
}
