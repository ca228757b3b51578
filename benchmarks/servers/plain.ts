import { fileURLToPath } from 'node:url';
import { Processes } from './children.js';
import { listening } from './laurel.js';
import { inPostgres } from './new-postgres.js';
import { plainSubject, type Subject } from './subject.js';

const program = fileURLToPath(new URL('../alternatives/plain-server.js', import.meta.url)).replace(/js$/, 'ts');
const database = 'plain';

/** Runs work with a back end that counts the events of wide.yaml in plain SQL, and a Postgres of its own with the settings of Laurel's. */
export function withPlain<T>(signal: AbortSignal, work: (subject: Subject) => Promise<T>): Promise<T> {
  return inPostgres(async (postgres) => {
    const processes = new Processes();
    try {
      await postgres.administer(`create database ${database}`);
      const url = postgres.url(database);
      const args = ['--import', import.meta.resolve('tsx'), program, url];
      const server = await processes.start(
        { name: 'The back end in plain SQL', command: process.execPath, args, channel: true, ready: listening },
        signal,
      );
      return await work(plainSubject(server, { url, pid: postgres.pid }));
    } finally {
      await processes.stop();
    }
  });
}
