/**
 * Loaded into each process of a service (`--import`): responds with the process's memory in bytes, on a socket in the folder MEMORY_PROBES. With
 * the path /collected, after a full collection, since garbage is no leak; the service has to be started with --expose-gc.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';

const server = createServer((request, response) => {
  if (request.url === '/collected') globalThis.gc?.();
  response.end(JSON.stringify(process.memoryUsage()));
});
// A process of a cluster would share the socket with its primary.
server.listen({ path: join(process.env.MEMORY_PROBES, `${process.pid}.sock`), exclusive: true });
// The service ends when it has nothing else to do.
server.unref();
