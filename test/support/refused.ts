import type { BadInput } from './bad-values.js';
import type { Described } from './openapi.js';
import { call } from './valid-input.js';
import type { Reply, World } from './world.js';

/** The problem with a response to bad input; undefined for a refusal or an issue with a sentence. */
function complaint({ status, body }: Reply, { partly }: BadInput): string | undefined {
  const sentence = /^[A-Z`][^]*\.$/;
  const { error, issues = [], problems, ...done } = body as Record<string, unknown> & { error?: unknown; issues?: { message: string }[] };
  if (status >= 500) return 'a fault of the service';
  if (status >= 400) return typeof error === 'string' && sentence.test(error) ? undefined : `no sentence: ${JSON.stringify(body)}`;
  // A dry run of a configuration takes any file, and reports what is wrong with it.
  if (Array.isArray(problems) && problems.length > 0) return undefined;
  if (!Array.isArray(issues) || issues.length === 0) return `taken: ${JSON.stringify(body)}`;
  if (!issues.every(({ message }) => sentence.test(message))) return `no sentence: ${JSON.stringify(issues)}`;
  const isDone = Object.values(done).some((list) => Array.isArray(list) && list.length > 0);
  return isDone && partly !== true ? `done: ${JSON.stringify(done)}` : undefined;
}

/** Sends bad inputs, and returns a line for each response that is not a refusal with a sentence. */
export async function runBad(world: World, base: string, operation: Described, inputs: readonly BadInput[]): Promise<string[]> {
  const complaints: string[] = [];
  for (const bad of inputs) {
    const wrong = complaint(await call(world, base, operation, bad.input, bad.raw), bad);
    if (wrong !== undefined) complaints.push(`${bad.what}: ${wrong.slice(0, 300)}`);
  }
  return complaints;
}
