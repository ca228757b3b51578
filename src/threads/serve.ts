import { parentPort } from 'node:worker_threads';
import type { Order, Reply, Tasks } from './thread.js';

/** Runs the tasks that the main thread asks for. The first message says that the thread is ready. */
export function serve(tasks: Tasks): void {
  if (!parentPort) throw new Error('this module runs in a worker thread');
  const port = parentPort;
  port.on('message', ({ name, input }: Order) => {
    port.postMessage(replyTo(tasks, name, input));
  });
  port.postMessage(null);
}

function replyTo(tasks: Tasks, name: string, input: unknown): Reply {
  try {
    return { result: tasks[name]?.(input as never) };
  } catch (error) {
    return { error };
  }
}
