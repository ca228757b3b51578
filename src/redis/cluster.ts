import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis, type Command } from 'ioredis';
import { limits } from '../shared/limits.js';

/** The start of the reply in place of ASK. */
export const slotIsMoving = 'MOVING';

/** The server that a slot has moved to, `host:port`, from a MOVED reply: the command was not executed. Undefined for any other. */
function movedTo(error: unknown): string | undefined {
  return error instanceof Error ? /^MOVED \d+ (\S+)/.exec(error.message)?.[1] : undefined;
}

/** Where messages are published: at the master of the first slot. Every node has subscribers of all channels. */
const publishing = { slot: 0 };

/** Prepares a server before any other command: it sends its first command synchronously. Never rejects. */
export type Prepare = (server: Redis) => Promise<void>;

/**
 * A connection to a Redis Cluster. It follows slots that move to another master, and differs from ioredis' own in four points:
 *
 * - While a slot is migrating (ASK), no command is sent to its new master: a function derives its keys from the one that it declares, and
 *   would miss those that have not been migrated yet. The caller gets a reply of our own to retry (ioredis resends on TRYAGAIN, and its
 *   pipelines throw if ASK is not followed).
 * - Commands of several tenants share a pipeline. If only some of their slots have moved, ioredis fails these commands. Here the slots are
 *   refreshed, so that `followMoved` can send the commands again.
 * - While no node replies, commands fail at once and are not queued.
 * - All messages are published on one node, and not each on any, so that subscribers receive them in order.
 */
export class ClusterConnection extends Cluster {
  /** The preparations, in order, of a master that has connected or that a slot has moved to. */
  readonly prepares: Prepare[] = [];
  private readonly preparing = new Map<string, Promise<void>>();

  /** Connects to a newly discovered node, so that no event has to wait for it. */
  take(node: Redis): void {
    if (this.prepares.length > 0 && node.options.readOnly !== true) void this.prepare(node);
    else if (node.status === 'wait') node.connect().catch(() => undefined);
  }

  private async prepare(server: Redis): Promise<void> {
    // All are sent synchronously, so that no other command is sent in between.
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

  /** Prepares the master that a reply names, if it is known. An unknown one is prepared when it connects. */
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
    // Before it is ready, the connection itself sends CLUSTER commands.
    if (this.status !== 'ready' && command.name !== 'cluster') {
      command.reject(new Error('No node of the cluster responds'));
      return command.promise;
    }
    const { reject } = command;
    command.reject = (error) => {
      if (error.message.startsWith('ASK ')) error.message = `${slotIsMoving} ${error.message}`;
      reject.call(command, error);
    };
    return super.sendCommand(command, stream, node ?? (command.name === 'publish' ? publishing : undefined));
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

/** Sends a command, and sends it again after a MOVED reply, since it was not executed. */
export async function followMoved<T>(redis: Redis | Cluster, send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (attempt > limits.maxRedisMoves || !(redis instanceof ClusterConnection) || !(await redis.learn(error))) throw error;
      // The nodes may not agree yet on the slots.
      if (attempt > 1) await delay(limits.redisMovePauseMs);
    }
  }
}

/** Calls `prepare` for each server that the connection reaches from now on, after a reconnect or a MOVED reply, before any other command. */
export function prepareServers(redis: Redis | Cluster, prepare: Prepare): void {
  if (redis instanceof ClusterConnection) redis.prepares.push(prepare);
  if (!(redis instanceof Redis)) return;
  let isFirst = redis.status !== 'ready';
  redis.on('ready', () => {
    if (!isFirst) void prepare(redis);
    isFirst = false;
  });
}

/** The servers that accept writes: one, or each master of a cluster. */
export function mastersOf(redis: Redis | Cluster): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}
