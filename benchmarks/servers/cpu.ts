import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { childrenOf } from '../../test/support/own-postgres.js';
import { processCommand } from '../../src/local-stores/processes.js';

/** Ticks of CPU time in a second (USER_HZ), the same on every Linux. */
const ticksPerS = 100;
/** The place of utime in /proc/<pid>/stat, counted from the first field after the program's name; stime, cutime and cstime follow. */
const firstTime = 11;

/** User and system time of a process, and with `ended` that of its children that have ended, in ticks. 0 for a process that is gone. */
function ticksOf(pid: number, ended: boolean): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const times = fields.slice(firstTime, firstTime + (ended ? 4 : 2)).map(Number);
    return times.reduce((sum, time) => sum + time, 0);
  } catch {
    return 0;
  }
}

/** Seconds of CPU time that a Postgres has used since its start: all its processes, those that have ended included. Linux only. */
export function serverCpuS(pid: number): number {
  for (;;) {
    const children = childrenOf(pid);
    const ticks = [pid, ...children].reduce((sum, one) => sum + ticksOf(one, true), 0);
    if (ticks === 0) throw new Error('The CPU time of a Postgres is read from /proc, which only Linux has.');
    // The time of a process that ends moves to its parent: in between it can be in neither of the two, or in both.
    if (childrenOf(pid).join() === children.join()) return ticks / ticksPerS;
  }
}

/** What a process of `laurel serve` does. */
export type ServiceRole = 'api' | 'worker' | 'supervisor';

/** The processes of a `laurel serve` by their roles: one process with all of them, or a supervisor with children whose last argument names theirs. */
export function serviceProcesses(pid: number): ReadonlyMap<number, ServiceRole> {
  const descendants = (parent: number): number[] => childrenOf(parent).flatMap((child) => [child, ...descendants(child)]);
  const roles = new Map<number, ServiceRole>();
  for (const child of descendants(pid)) {
    const role = / (api|worker)[\s-]?\d*$/.exec(processCommand(child))?.[1];
    if (role === 'api' || role === 'worker') roles.set(child, role);
  }
  return new Map([[pid, roles.size === 0 ? 'api' : 'supervisor'], ...roles]);
}

/** Seconds of CPU time of each role. */
export function serviceCpuS(pid: number): Readonly<Partial<Record<ServiceRole, number>>> {
  const seconds: Partial<Record<ServiceRole, number>> = {};
  for (const [process, role] of serviceProcesses(pid)) seconds[role] = (seconds[role] ?? 0) + ticksOf(process, false) / ticksPerS;
  return seconds;
}

/** Seconds of CPU time of a Redis since its start: of all its threads, or of the one that executes commands. */
export async function redisCpuS(redis: Redis, threads: 'all' | 'main' = 'all'): Promise<number> {
  const info = await redis.info('cpu');
  const suffix = threads === 'main' ? '_main_thread' : '';
  const part = (name: string): number => Number(new RegExp(`^used_cpu_${name}${suffix}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
  return part('user') + part('sys');
}
