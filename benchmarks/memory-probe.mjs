/** Loaded into a service (`--import`) that has a channel to its parent: answers each message with the memory that the process takes, in bytes. */
process.on('message', (/** @type {{ collect: boolean }} */ { collect }) => {
  // What is garbage is no leak: the heap is told after a full collection, for which the service has to be started with --expose-gc.
  if (collect) globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ rss, heapUsed });
});
// The service ends when it has nothing else to do.
process.channel?.unref();
