import { expect } from 'chai';
import { OperatorError } from '../../src/shared/errors.js';
import type { Command } from '../../src/local-stores/processes.js';
import { findOrInstallRedis, isNewEnough, planInstall, type Machine } from '../../src/local-stores/redis-program.js';

const whole = ({ program, args }: Command): string => [program, ...args].join(' ');

/** A machine that has these programs, and gets others from these commands. */
function machineWith(
  programs: readonly string[],
  options: Partial<Machine> = {},
  brings: (command: string) => Record<string, string> = () => ({}),
) {
  const there = new Map<string, string>(programs.map((program) => [program, '']));
  const ran: string[] = [];
  const machine: Machine = {
    lookUp: (program) => (there.has(program) ? `/bin/${program}` : null),
    run: (command) => {
      if (command.args[0] === '--version')
        return Promise.resolve({ code: 0, output: there.get(command.program.slice('/bin/'.length)) ?? '' });
      ran.push(whole(command));
      const brought = Object.entries(brings(whole(command)));
      for (const [program, version] of brought) there.set(program, version);
      return Promise.resolve({ code: brought.length > 0 || command.args.includes('update') ? 0 : 1, output: 'no such package' });
    },
    isRoot: true,
    isInteractive: false,
    ...options,
  };
  const has = (program: string, version: string): void => void there.set(program, version);
  return { machine, ran, has };
}

const apt = (prefix: string): string[] => [
  `${prefix}env DEBIAN_FRONTEND=noninteractive apt-get update`,
  `${prefix}env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends redis-server`,
];

/** The commands for each package manager and user, one list for each package that is tried; null without a way to install. */
const installs: readonly (readonly [programs: string[], who: Pick<Machine, 'isRoot' | 'isInteractive'>, attempts: string[][] | null])[] = [
  [['apt-get'], { isRoot: true, isInteractive: false }, [apt('')]],
  [['apt-get', 'sudo'], { isRoot: true, isInteractive: true }, [apt('')]],
  [['apt-get', 'sudo'], { isRoot: false, isInteractive: true }, [apt('sudo ')]],
  [['apt-get', 'sudo'], { isRoot: false, isInteractive: false }, [apt('sudo -n ')]],
  [['apt-get'], { isRoot: false, isInteractive: true }, null],
  [['dnf'], { isRoot: true, isInteractive: false }, [['dnf install -y valkey'], ['dnf install -y redis']]],
  [['dnf', 'sudo'], { isRoot: false, isInteractive: true }, [['sudo dnf install -y valkey'], ['sudo dnf install -y redis']]],
  [['apk'], { isRoot: true, isInteractive: false }, [['apk add --no-cache valkey'], ['apk add --no-cache redis']]],
  [['apk'], { isRoot: false, isInteractive: false }, null],
  [
    ['pacman'],
    { isRoot: true, isInteractive: false },
    [['pacman -S --noconfirm --needed valkey'], ['pacman -S --noconfirm --needed redis']],
  ],
  [['brew', 'sudo'], { isRoot: false, isInteractive: true }, [['brew install redis'], ['brew install valkey']]],
  [['brew'], { isRoot: true, isInteractive: true }, null],
  [['sudo'], { isRoot: false, isInteractive: true }, null],
  [[], { isRoot: true, isInteractive: true }, null],
];

const versions: readonly (readonly [line: string, isEnough: boolean])[] = [
  ['Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0', true],
  ['Redis server v=8.2.1 sha=00000000:1 malloc=libc bits=64 build=1', true],
  ['Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64 build=1', false],
  ['Redis server v=10.0.0 sha=0', true],
  ['Valkey server v=7.2.5 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1', true],
  ['Valkey server v=8.1.0 sha=0', true],
  ['Valkey server v=7.1.9 sha=0', false],
  ['KeyDB server v=7.3.4 sha=0', false],
  ['', false],
];

describe('Finding and installing Redis', () => {
  for (const [programs, who, attempts] of installs) {
    const by = who.isRoot ? 'root' : `a user ${who.isInteractive ? 'at a terminal' : 'without a terminal'}`;
    it(`${attempts ? 'knows what to run' : 'does nothing'} with ${programs.join(' and ') || 'no package manager'}, as ${by}`, () => {
      const plan = planInstall({ lookUp: (program) => (programs.includes(program) ? `/bin/${program}` : null), ...who });
      expect(plan?.attempts.map((commands) => commands.map(whole)) ?? null).to.deep.equal(attempts);
      if (plan)
        expect(plan.announcement).to.contain(
          `installing it with ${programs.includes('sudo') && attempts?.flat().join().includes('sudo') ? 'sudo ' : ''}${programs[0] ?? ''}.`,
        );
    });
  }

  for (const [line, isEnough] of versions) {
    it(`considers “${line.slice(0, 24)}” ${isEnough ? 'new enough' : 'unfit'}`, () => {
      expect(isNewEnough(line)).to.equal(isEnough);
    });
  }

  const current = 'Redis server v=7.0.15 sha=0';
  const old = 'Redis server v=6.0.16 sha=0';

  it('uses an installed server and prints nothing', async () => {
    const { machine, ran, has } = machineWith(['apt-get']);
    has('valkey-server', 'Valkey server v=8.0.1 sha=0');
    const said: string[] = [];
    expect(await findOrInstallRedis(machine, (line) => void said.push(line))).to.equal('/bin/valkey-server');
    expect([ran, said]).to.deep.equal([[], []]);
  });

  it('prefers a Valkey that is new enough to a Redis that is not', async () => {
    const { machine, has } = machineWith([]);
    has('redis-server', old);
    has('valkey-server', 'Valkey server v=8.0.1 sha=0');
    expect(await findOrInstallRedis(machine, () => undefined)).to.equal('/bin/valkey-server');
  });

  it('announces the installation, installs, and uses the result', async () => {
    const { machine, ran } = machineWith(['apt-get'], {}, (command) =>
      command.endsWith('redis-server') ? { 'redis-server': current } : {},
    );
    const said: string[] = [];
    expect(await findOrInstallRedis(machine, (line) => void said.push(`${line} (${ran.length} run)`))).to.equal('/bin/redis-server');
    expect(ran).to.deep.equal(apt(''));
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/^Redis is not on this machine: installing it with apt-get\..*\(0 run\)$/);
  });

  it('tries the other package when the first does not exist', async () => {
    const { machine, ran } = machineWith(['apk'], {}, (command) => (command.endsWith(' redis') ? { 'redis-server': current } : {}));
    expect(await findOrInstallRedis(machine, () => undefined)).to.equal('/bin/redis-server');
    expect(ran).to.deep.equal(['apk add --no-cache valkey', 'apk add --no-cache redis']);
  });

  const failures: readonly (readonly [what: string, make: () => Machine, says: string])[] = [
    [
      'a Redis that is too old',
      () => withOld().machine,
      'The Redis on this machine is too old: /bin/redis-server is “Redis server v=6.0.16',
    ],
    ['no package manager', () => machineWith([]).machine, 'there is no package manager'],
    ['a package manager that fails', () => machineWith(['dnf']).machine, '“dnf install -y redis” failed: no such package'],
    [
      'a package that is too old',
      () => machineWith(['apt-get'], {}, (command) => (command.endsWith('redis-server') ? { 'redis-server': old } : {})).machine,
      'It brought one that is too old',
    ],
  ];

  function withOld(): ReturnType<typeof machineWith> {
    const made = machineWith(['apt-get']);
    made.has('redis-server', old);
    return made;
  }

  for (const [what, make, says] of failures) {
    it(`says what to do about ${what}`, async () => {
      const error = await findOrInstallRedis(make(), () => undefined).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(OperatorError);
      expect((error as OperatorError).message)
        .to.contain(says)
        .and.to.match(/Install Redis 7\.0 or newer, or Valkey 7\.2 or newer.* or set REDIS_URL/);
    });
  }

  it('leaves a Redis that is too old alone', async () => {
    const { machine, ran } = withOld();
    await findOrInstallRedis(machine, () => undefined).catch(() => undefined);
    expect(ran).to.deep.equal([]);
  });
});
