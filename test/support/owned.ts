import type { ChildProcess } from 'node:child_process';

/** Servers that this process has started: a test process that ends early takes them with it. */
const owned = new Set<number>();
process.once('exit', () => {
  for (const pid of owned) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
});

export function own(pid: number): void {
  owned.add(pid);
}

/** Call it when the server has stopped: its number may become that of another process. */
export function disown(pid: number): void {
  owned.delete(pid);
}

export function ownChild(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
  own(pid);
  child.once('exit', () => disown(pid));
}
