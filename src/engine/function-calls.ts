import type { Redis } from 'ioredis';
import { followMoved, mastersOf, prepareServers } from '../redis/cluster.js';
import { callFunction, messageOf, type RedisConnection } from '../redis/connection.js';
import { keptFunctions, keyNames, partitionPrefix, type FunctionName } from '../redis/contract.js';
import { redisFailure } from '../redis/failure.js';
import type { FunctionLibrary } from '../redis/library.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { redisProblems, StoreError } from '../shared/store-problems.js';

/** An outcome from contract.ts, and the values of the reply. Texts and MessagePack come as buffers. */
export interface Reply {
  readonly outcome: number;
  readonly values: readonly unknown[];
}

/** Makes a call of a function, and measures it. */
export type AroundCall = <T>(name: FunctionName, call: () => Promise<T>) => Promise<T>;

export interface FunctionCallsOptions {
  readonly redis: RedisConnection;
  /** A connection of its own for pipelines of long calls, so that other replies do not wait behind them; `redis` without it. */
  readonly bulkRedis?: RedisConnection;
  /**
   * With DURABILITY=replicated: a connection of its own for calls whose replies wait for replicas, so that no other waits behind them. It and
   * `bulkRedis` have a `replication`.
   */
  readonly keptRedis?: RedisConnection | undefined;
  readonly prefix: string;
  readonly library: FunctionLibrary;
  /** Undefined: calls are not measured. */
  readonly aroundCall?: AroundCall | undefined;
}

/** Calls the function library by its contract, and loads it where it is missing. */
export class FunctionCalls {
  private readonly options: FunctionCallsOptions;

  constructor(options: FunctionCallsOptions) {
    this.options = options;
    const { redis, bulkRedis = redis, keptRedis = redis } = options;
    for (const connection of new Set([redis, bulkRedis, keptRedis])) prepareServers(connection, (server) => this.renewLibrary(server));
  }

  /** The start of all keys of a tenant. */
  partition(tenant: number): string {
    return partitionPrefix(this.options.prefix, tenant);
  }

  /** The name of the plan of an earlier configuration, by its hash (lua/modules/segments.lua). */
  earlierPlan(hash: string): string {
    return `${hash}-${this.options.library.name}`;
  }

  /** Calls a function for a tenant, with the arguments in the order of the contract. Throws a LaurelError `not_ready` while Redis is away. */
  async run(
    tenant: number,
    name: FunctionName,
    args: readonly (string | number | Buffer)[],
    connection: RedisConnection = this.connectionFor(name),
  ): Promise<Reply> {
    const { library, aroundCall, keptRedis } = this.options;
    const partition = this.partition(tenant);
    const isKept = keptRedis !== undefined && (connection === keptRedis || keptFunctions.has(name));
    const sent = { key: partition + keyNames.meta, args, fence: isKept ? partition + keyNames.fence : undefined };
    const send = (): Promise<unknown> => callFunction(connection, library.functionName(name), sent);
    const call = aroundCall ? (): Promise<unknown> => aroundCall(name, send) : send;
    let reply: unknown;
    try {
      reply = await call();
    } catch (error) {
      reply = await this.recover(name, call, { error, connection });
    }
    if (!Array.isArray(reply)) throw new Error(`${name} replied something that is not a list`);
    const [outcome, ...values] = reply as unknown[];
    return { outcome: Number(outcome), values };
  }

  private connectionFor(name: FunctionName): RedisConnection {
    const { redis, keptRedis = redis } = this.options;
    return keptFunctions.has(name) ? keptRedis : redis;
  }

  /** Makes a call again if its failure allows it: after a MOVED reply, or without the library. Throws the failure for the caller otherwise. */
  private recover(
    name: string,
    call: () => Promise<unknown>,
    { error, connection }: { readonly error: unknown; readonly connection: RedisConnection },
  ): Promise<unknown> {
    let isFirst = true;
    const again = async (): Promise<unknown> => {
      if (!isFirst) return call();
      isFirst = false;
      throw error;
    };
    return this.withLibrary(name, () => this.command(again, connection));
  }

  /** Sends commands. Throws a LaurelError `not_ready` while Redis is away. */
  async command<T>(use: (redis: RedisConnection) => Promise<T>, connection: RedisConnection = this.options.redis): Promise<T> {
    try {
      return await followMoved(connection, () => use(connection));
    } catch (error) {
      throw redisFailure(error, connection);
    }
  }

  /**
   * Loads the function library on every master. A master that has it keeps it, with its state in memory; one that is away gets it when it is
   * back. Throws when no master can take it.
   */
  async loadLibrary(): Promise<void> {
    const { library, redis } = this.options;
    const loading = mastersOf(redis).map((server) => server.function('LOAD', library.source));
    const failures = (await Promise.allSettled(loading)).flatMap((load) =>
      load.status === 'rejected' && !messageOf(load.reason).includes('already exists') ? [load.reason as unknown] : [],
    );
    if (failures.length < loading.length) return;
    throw this.located('library', redisFailure(failures[0] ?? new Error('no master of the cluster is known'), redis));
  }

  /** Makes a call, and loads the library when it is missing. It may be gone again before the call arrives. */
  private async withLibrary(name: string, fcall: () => Promise<unknown>): Promise<unknown> {
    for (let attempt = 0; attempt < limits.maxEngineAttempts; attempt += 1) {
      try {
        return await fcall();
      } catch (error) {
        if (!messageOf(error).includes('Function not found')) throw this.located(name, error);
      }
      await this.loadLibrary();
    }
    throw new StoreError(redisProblems.lostLibrary);
  }

  /**
   * Clears the library's state in the memory of a server, so that each partition is compared with Postgres anew: a server that the connection
   * comes to may have been a replica in between, and lack what another master has passed to Postgres.
   */
  private async renewLibrary(server: Redis): Promise<void> {
    await server.function('LOAD', 'REPLACE', this.options.library.source).catch(() => undefined);
  }

  private located(what: string, error: unknown): unknown {
    if (error instanceof LaurelError) return error;
    return new Error(`${what}: ${this.options.library.locate(messageOf(error))}`, { cause: error });
  }
}

/** A buffer of a reply as text. */
export function text(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  return '';
}
