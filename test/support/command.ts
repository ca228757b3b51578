import { InvalidArgumentError, type Command } from 'commander';

/** Reads an option that is a whole number above 0. */
export function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

/** Aborts on SIGINT and SIGTERM, so that a run stops what it started, and makes the process exit with 1. A second signal changes nothing. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController();
  const interrupt = (): void => {
    process.exitCode = 1;
    interrupted.abort(new Error('Interrupted.'));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  return interrupted.signal;
}

/** Runs the command line. Prints the message of an error and exits with 1. */
export async function runCommand(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
