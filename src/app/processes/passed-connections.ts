import type { ChildProcess, SendHandle, Serializable } from 'node:child_process';

/** A message of node:cluster. `seq` numbers those of the supervisor, and `ack` is the number of the one that a process replies to. */
interface ClusterMessage {
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Closes the connections that a process had not accepted when it ended. node:cluster would keep them open until the supervisor ends, and their
 * clients would wait for a response.
 */
export function closeUnaccepted(child: ChildProcess): void {
  const passed = new Map<number, { close(): void }>();
  const send = child.send.bind(child) as (message: Serializable, handle?: SendHandle, ...more: readonly unknown[]) => boolean;
  child.send = (message: Serializable, handle?: unknown, ...more: unknown[]) => {
    const { seq } = message as ClusterMessage;
    if (seq !== undefined && handle) passed.set(seq, handle as { close(): void });
    return send(message, handle as SendHandle, ...more);
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) passed.delete(ack);
  });
  child.once('close', () => {
    for (const connection of passed.values()) connection.close();
  });
}
