/** The worker threads of a process, each started when it is first needed. */
import { limits } from '../shared/limits.js';
import { topLists } from '../config/schema/kinds.js';
import type { ConfigDocument } from '../config/schema/model.js';
import { configTasks, type Edit } from './config-tasks.js';
import type { renderTasks } from './render-tasks.js';
import { Thread } from './thread.js';

const entry = (name: string): URL => new URL(`./${name}`, import.meta.url);

/** Renders the templates of operators. */
export const renderThread = new Thread<typeof renderTasks>({
  entry: entry('render-thread'),
  timeMs: limits.templateRenderMs,
  memoryMb: limits.renderThreadMb,
  overrun: `The texts take more than ${limits.templateRenderMs} ms to render: use fewer filters and loops.`,
});

const newConfigThread = (): Thread<typeof configTasks> =>
  new Thread({
    entry: entry('config-thread'),
    timeMs: limits.configWorkMs,
    memoryMb: limits.configThreadMb,
    overrun: `The configuration takes more than ${limits.configWorkMs / 1000} s to process: make it smaller.`,
  });

/** Plans, edits and compares configurations. */
const configThread = newConfigThread();
/** Compiles them: events wait for a new configuration, which must not wait for dry runs. */
const compileThread = newConfigThread();

/** The objects, lists and fields in a value that edits a configuration, and one more for each 100 characters of its texts. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Math.floor(value.length / 100);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + sizeOf(part), 1);
}

/** How many objects edits of a document are about: each edit checks the document that those before it have made. */
export const objectsOfEdits = (document: ConfigDocument, edits: readonly Edit[]): number =>
  (objectsIn(document) + sizeOf(edits)) * edits.length;

type ConfigTask = keyof typeof configTasks;

/** The objects of a document, archived ones included. */
export const objectsIn = (document: ConfigDocument): number =>
  topLists.reduce((count, list) => count + document[list].length, 0) +
  document.pointsSystems.reduce((count, { levels, triggers, boosts }) => count + levels.length + triggers.length + boosts.length, 0);

/**
 * Runs a task on configurations: here if it is about few objects, which takes a few ms, else in the thread. Throws an Overrun (a 422).
 */
export async function configWork<N extends ConfigTask>(
  name: N,
  input: Parameters<(typeof configTasks)[N]>[0],
  objects: number,
): Promise<ReturnType<(typeof configTasks)[N]>> {
  if (objects > limits.inPlaceObjects) return (name === 'compile' ? compileThread : configThread).run(name, input);
  const task = configTasks[name] as (given: typeof input) => ReturnType<(typeof configTasks)[N]>;
  return task(input);
}
