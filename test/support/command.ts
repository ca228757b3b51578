import { InvalidArgumentError, type Command } from 'commander';

/** Reads an option that is a whole number above 0. */
export function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

/** Is aborted by Ctrl-C and by a termination, so that a run ends in order and nothing that it started stays behind. A second Ctrl-C does not hurry it. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort(new Error('Interrupted.')));
  return interrupted.signal;
}

/** Does what the command line asks for. What goes wrong is said in a sentence, and is the process's failure. */
export async function runCommand(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
