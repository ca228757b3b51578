import { limits } from '../shared/limits.js';

/** A Redis, as one process names it. */
export interface RedisPlace {
  /** REDIS_URL without its login. */
  readonly address: string;
  readonly prefix: string;
  /** The run_id of each master and the number of the database. */
  readonly servers: readonly string[];
}

/** What a process runs; `command` is a `laurel` command that ends by itself. */
export type ProcessRole = 'api' | 'worker' | 'api and worker' | 'command';

/** What a process has written into Postgres: its Redis holds a current epoch. */
export interface Confirmation extends RedisPlace {
  /** Made anew at each start. */
  readonly process: string;
  readonly host: string;
  readonly pid: number;
  readonly role: ProcessRole;
  readonly confirmedAt: Date;
  /** Stopped in order. */
  readonly isStopped: boolean;
}

/**
 * What a process wants its Redis to be active for. `current`: to open a partition that holds the current epoch. `none`: to give an epoch to an
 * empty partition, or to restore one. `past`: to restore one whose epoch has ended.
 */
export interface Need {
  readonly epoch: 'current' | 'none' | 'past';
  /** An operator has asked for it: `laurel restore`. */
  readonly isExplicit?: boolean;
}

/** What is known when a process asks. */
export interface Standing {
  readonly mine: RedisPlace;
  /** Confirmations of other processes on another Redis or prefix, the newest first; fresh ones are not older than limits.redisSilenceMs. */
  readonly others: readonly (Confirmation & { readonly isFresh: boolean })[];
  readonly active: RedisPlace | undefined;
  readonly isAsking: boolean;
  /** For how long the process has been asking without a break; 0 when it begins now. */
  readonly askedMs: number;
}

/**
 * Why a process may not open or restore a partition. `confirmed`: others use another Redis. `silent`: they did, and may only be cut off from
 * Postgres. `superseded`: the data has moved from this Redis to another one.
 */
export interface Objection {
  readonly why: 'confirmed' | 'silent' | 'superseded';
  readonly mine: RedisPlace;
  readonly other: RedisPlace;
  /** The process that has confirmed the other Redis; undefined when there is none left. */
  readonly by: Confirmation | undefined;
}

const isSame = (one: RedisPlace, other: RedisPlace): boolean =>
  one.prefix === other.prefix && (one.address === other.address || one.servers.some((server) => other.servers.includes(server)));

/** What is against it; undefined for nothing. */
export function objectionTo(
  { epoch, isExplicit = false }: Need,
  { mine, others, active, isAsking, askedMs }: Standing,
): Objection | undefined {
  const isActive = active === undefined || isSame(active, mine);
  // Processes that stopped in order used the server that was at this address before.
  const live = others.find((other) => other.isFresh && !(other.isStopped && isSame(other, mine)));
  if (live) return { why: 'confirmed', mine, other: live, by: live };
  if (epoch === 'past' && !isActive && !isExplicit) return { why: 'superseded', mine, other: active, by: undefined };
  // A process without a fresh confirmation may be cut off from Postgres, or Postgres itself was away: give it time to come back.
  const killed = others.find((other) => !other.isStopped);
  const mustWait = !isActive || (epoch !== 'current' && killed !== undefined);
  if (isAsking && mustWait && askedMs < limits.redisSilenceMs) {
    return { why: 'silent', mine, other: killed ?? active ?? mine, by: killed };
  }
  return undefined;
}

const named = ({ address, prefix }: RedisPlace): string => `${address} with the prefix ${prefix}`;

/** What is against it, for callers and operators. */
export function objectionSentence({ why, mine, other, by }: Objection): string {
  const seconds = limits.redisSilenceMs / 1000;
  const processNamed = by ? `process ${by.pid} on ${by.host}` : 'a process';
  switch (why) {
    case 'confirmed':
      return (
        `The data of this Postgres is in use on another Redis: ${named(other)}, confirmed by ${processNamed}. This process uses ${named(mine)}. ` +
        'Nothing was changed. Set REDIS_URL and REDIS_PREFIX to the Redis that holds the data, or DATABASE_URL to another database; ' +
        `to move the data to this Redis, stop every process of the other one and wait ${seconds} seconds.`
      );
    case 'silent':
      return (
        `The data of this Postgres was in use on another Redis: ${named(other)}, by ${processNamed}. This process uses ${named(mine)}, and waits ` +
        `until the other Redis has not been confirmed for ${seconds} seconds. Nothing was changed.`
      );
    case 'superseded':
      return (
        `This Redis has an epoch that has ended: the data of this Postgres has moved from ${named(mine)} to ${named(other)}. Nothing was changed. ` +
        'Set REDIS_URL and REDIS_PREFIX to the Redis that holds the data. To move the data back, stop every process of the other Redis, wait ' +
        `${seconds} seconds and run laurel restore, which saves the ledger entries of this Redis that Postgres does not have.`
      );
  }
}
