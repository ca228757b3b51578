import { readFileSync } from 'node:fs';
import { childrenOf } from '../test/support/own-postgres.js';

/** Ticks of CPU time in a second (USER_HZ), the same on every Linux. */
const ticksPerS = 100;
/** The place of utime in /proc/<pid>/stat, counted from the first field after the program's name; stime, cutime and cstime follow. */
const firstTime = 11;

/** The sum of utime, stime, cutime and cstime of processes that are there. */
function ticksOf(pids: readonly number[]): number {
  return pids.flatMap(timesOf).reduce((sum, time) => sum + time, 0);
}

function timesOf(pid: number): number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(firstTime, firstTime + 4).map(Number);
  } catch {
    return [];
  }
}

/** Seconds of CPU time that a Postgres has used since its start: all its processes, those that have ended included. Linux only. */
export function serverCpuS(pid: number): number {
  for (;;) {
    const children = childrenOf(pid);
    const ticks = ticksOf([pid, ...children]);
    if (ticks === 0) throw new Error('The CPU time of a Postgres is read from /proc, which only Linux has.');
    // The time of a process that ends moves to its parent: in between it can be in neither of the two, or in both.
    if (childrenOf(pid).join() === children.join()) return ticks / ticksPerS;
  }
}
