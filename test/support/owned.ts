import type { ChildProcess } from 'node:child_process';

/** Servers started by this process: killed with it when it exits early. */
const owned = new Set<number>();
process.once('exit', () => {
  for (const pid of owned) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already exited.
    }
  }
});

export function own(pid: number): void {
  owned.add(pid);
}

/** Call it once the server has stopped: its pid may be reused. */
export function disown(pid: number): void {
  owned.delete(pid);
}

export function ownChild(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
  own(pid);
  child.once('exit', () => disown(pid));
}
