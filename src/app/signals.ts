import { isatty } from 'node:tty';

/** Resolves with the first SIGINT or SIGTERM. Further ones call `onFurther` with their number, from 2. */
export function stopSignal(onFurther: (count: number) => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let count = 0;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        count += 1;
        if (count === 1) resolve(signal);
        else onFurther(count);
      });
    }
  });
}

/** Returns a function that returns whether the terminal that this process was started in has been closed since. */
export function watchTerminal(isTerminal = (): boolean => isatty(1)): () => boolean {
  const hadTerminal = isTerminal();
  return () => hadTerminal && !isTerminal();
}

/** Calls `onReload` at each SIGHUP. A terminal sends it too when it is closed: then calls `onHangUp`, since the operator who started this has left. */
export function onHangUpSignal(onReload: () => void, onHangUp: () => void): void {
  const isClosed = watchTerminal();
  process.on('SIGHUP', () => {
    if (isClosed()) onHangUp();
    else onReload();
  });
}
