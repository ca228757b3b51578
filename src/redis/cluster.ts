import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis, type Command } from 'ioredis';
import { limits } from '../shared/limits.js';

/** Begins what is said in the place of ASK. */
export const slotIsMoving = 'MOVING';

/** The server that a slot has moved to, `host:port`, from a MOVED reply: the command was not executed. Undefined for any other. */
function movedTo(error: unknown): string | undefined {
  return error instanceof Error ? /^MOVED \d+ (\S+)/.exec(error.message)?.[1] : undefined;
}

/** Does something with a server before anything else is asked of it: it sends its first command at once. Never rejects. */
export type Prepare = (server: Redis) => Promise<void>;

/**
 * A connection to a Redis Cluster. It follows a slot that has moved to another master, and differs from ioredis' own in three points:
 *
 * - While a slot is being moved (ASK) nothing is asked of the master that it moves to: a function derives its keys from the one that it
 *   declares, and would find those that have not come over yet to be missing. The caller gets a reply of our own to retry
 *   (TRYAGAIN would be sent again by ioredis, and ASK makes its pipelines throw if it is not followed).
 * - Commands of several tenants share a pipeline; when only some of their slots have moved, ioredis leaves it at an error. The new places are
 *   looked up, for `followMoved` to send those again.
 * - While no node answers, commands fail at once and are not kept.
 */
export class ClusterConnection extends Cluster {
  /** What is done, in this order, with a master that is connected to, or that a slot has moved to. */
  readonly prepares: Prepare[] = [];
  private readonly preparing = new Map<string, Promise<void>>();

  /** Takes up a node that has become known: it is connected to before it is needed, so that no event has to wait for it. */
  take(node: Redis): void {
    if (this.prepares.length > 0 && node.options.readOnly !== true) void this.prepare(node);
    else if (node.status === 'wait') node.connect().catch(() => undefined);
  }

  private async prepare(server: Redis): Promise<void> {
    // All are sent at once, so that nothing comes in between.
    await Promise.all(this.prepares.map((prepare) => prepare(server)));
  }

  override handleError(error: Error, ttl: { value?: unknown }, handlers: { defaults: () => void }): void {
    if (error.message.startsWith('ASK ')) {
      handlers.defaults();
      return;
    }
    const follow = (): void => {
      super.handleError(error, ttl, handlers);
    };
    const preparing = this.prepareMove(error);
    if (preparing) preparing.then(follow, follow);
    else follow();
  }

  /** Prepares the master that a reply names, if it is one that is known; one that is not is prepared when it is connected to. */
  private prepareMove(error: unknown): Promise<void> | undefined {
    const to = movedTo(error);
    const server = this.nodes().find(({ options: { host, port } }) => `${host}:${port}` === to);
    if (to === undefined || !server || this.prepares.length === 0) return undefined;
    let preparing = this.preparing.get(to);
    if (!preparing) {
      preparing = this.prepare(server).finally(() => this.preparing.delete(to));
      this.preparing.set(to, preparing);
    }
    return preparing;
  }

  override sendCommand(command: Command, stream?: Parameters<Cluster['sendCommand']>[1], node?: unknown): unknown {
    // What the connection itself asks before it is ready are CLUSTER commands.
    if (this.status !== 'ready' && command.name !== 'cluster') {
      command.reject(new Error('No node of the cluster answers'));
      return command.promise;
    }
    const { reject } = command;
    command.reject = (error) => {
      if (error.message.startsWith('ASK ')) error.message = `${slotIsMoving} ${error.message}`;
      reject.call(command, error);
    };
    return super.sendCommand(command, stream, node);
  }

  /** Refreshes the slots after a MOVED reply; returns whether it was one. */
  async learn(error: unknown): Promise<boolean> {
    if (movedTo(error) === undefined) return false;
    await this.prepareMove(error);
    await new Promise<void>((resolve) => {
      this.refreshSlotsCache(() => {
        resolve();
      });
    });
    return true;
  }
}

/** Sends something, and again when its slot has moved in the meantime, which means that it was not executed. */
export async function followMoved<T>(redis: Redis | Cluster, send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (attempt > limits.maxRedisMoves || !(redis instanceof ClusterConnection) || !(await redis.learn(error))) throw error;
      // The nodes may not agree yet.
      if (attempt > 1) await delay(limits.redisMovePauseMs);
    }
  }
}

/**
 * Calls `prepare` for each server that the connection comes to from here on: after it broke, or when a slot has moved. It goes before what
 * the connection is given from then on.
 */
export function prepareServers(redis: Redis | Cluster, prepare: Prepare): void {
  if (redis instanceof ClusterConnection) redis.prepares.push(prepare);
  if (!(redis instanceof Redis)) return;
  let isFirst = redis.status !== 'ready';
  redis.on('ready', () => {
    if (!isFirst) void prepare(redis);
    isFirst = false;
  });
}

/** The servers that take writes: one, or each master of a cluster. */
export function mastersOf(redis: Redis | Cluster): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}
