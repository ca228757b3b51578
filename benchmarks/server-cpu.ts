import { readFileSync } from 'node:fs';
import { childrenOf } from '../test/support/own-postgres.js';

/** Ticks of CPU time in a second (USER_HZ), the same on every Linux. */
const ticksPerS = 100;
/** The place of utime in /proc/<pid>/stat, counted from the first field after the program's name; stime, cutime and cstime follow. */
const firstTime = 11;

/** utime, stime, cutime and cstime of a process; nothing for one that is gone: its parent has them then. */
function timesOf(pid: number): number[] {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return [];
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(firstTime, firstTime + 4).map(Number);
}

/** Seconds of CPU time that a Postgres has used since its start: all its processes, those that have ended included. Linux only. */
export function serverCpuS(pid: number): number {
  const ticks = [pid, ...childrenOf(pid)].flatMap(timesOf).reduce((sum, time) => sum + time, 0);
  if (ticks === 0) throw new Error('The CPU time of a Postgres is read from /proc, which only Linux has.');
  return ticks / ticksPerS;
}
