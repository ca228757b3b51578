import { limits } from '../shared/limits.js';

/** A Redis as one process identifies it. */
export interface RedisIdentity {
  /** REDIS_URL without its login. */
  readonly address: string;
  readonly prefix: string;
  /** The run_id of each master and the number of the database. */
  readonly servers: readonly string[];
}

/** `command` is a `laurel` command that exits when done. */
export type ProcessRole = 'api' | 'worker' | 'api and worker' | 'command';

/** A process's record in Postgres that its Redis holds a current epoch. */
export interface Confirmation extends RedisIdentity {
  /** A UUID, new at each start. */
  readonly process: string;
  readonly host: string;
  readonly pid: number;
  readonly role: ProcessRole;
  readonly confirmedAt: Date;
  /** Whether the process shut down cleanly. */
  readonly isStopped: boolean;
}

/**
 * Why a process claims its Redis. `current`: to open a partition that holds the current epoch. `none`: to start an epoch in an empty partition,
 * or to restore one. `past`: to restore one whose epoch has ended.
 */
export interface ClaimPurpose {
  readonly epoch: 'current' | 'none' | 'past';
  /** An operator runs `laurel restore`. */
  readonly isExplicit?: boolean;
}

/** The input of a claim. */
export interface ClaimState {
  readonly own: RedisIdentity;
  /** Confirmations of other processes on another Redis or prefix, newest first. Fresh ones are at most limits.redisSilenceMs old. */
  readonly others: readonly (Confirmation & { readonly isFresh: boolean })[];
  readonly active: RedisIdentity | undefined;
  readonly isClaiming: boolean;
  /** How long the process has been claiming without a break; 0 for a first claim. */
  readonly claimingMs: number;
}

/**
 * Why a process may not open or restore a partition. `confirmed`: other processes use another Redis. `silent`: they did, and may only be cut off
 * from Postgres. `superseded`: the data has moved from this Redis to another one.
 */
export interface Objection {
  readonly reason: 'confirmed' | 'silent' | 'superseded';
  readonly own: RedisIdentity;
  readonly other: RedisIdentity;
  /** The process that confirmed the other Redis; undefined when none is left. */
  readonly confirmedBy: Confirmation | undefined;
}

const isSameRedis = (one: RedisIdentity, other: RedisIdentity): boolean =>
  one.prefix === other.prefix && (one.address === other.address || one.servers.some((server) => other.servers.includes(server)));

/** The objection to a claim; undefined when there is none. */
export function objectionTo(
  { epoch, isExplicit = false }: ClaimPurpose,
  { own, others, active, isClaiming, claimingMs }: ClaimState,
): Objection | undefined {
  const isActive = active === undefined || isSameRedis(active, own);
  // Processes that shut down cleanly used the server that was at this address before.
  const live = others.find((other) => other.isFresh && !(other.isStopped && isSameRedis(other, own)));
  if (live) return { reason: 'confirmed', own, other: live, confirmedBy: live };
  if (epoch === 'past' && !isActive && !isExplicit) return { reason: 'superseded', own, other: active, confirmedBy: undefined };
  // A process without a fresh confirmation may be cut off from Postgres, or Postgres was unavailable: give it time to reconnect.
  const killed = others.find((other) => !other.isStopped);
  const mustWait = !isActive || (epoch !== 'current' && killed !== undefined);
  if (isClaiming && mustWait && claimingMs < limits.redisSilenceMs) {
    return { reason: 'silent', own, other: killed ?? active ?? own, confirmedBy: killed };
  }
  return undefined;
}

/**
 * Whether the objection concerns the same address and prefix, only with other servers: a Redis that has restarted or failed over, or two servers behind
 * one address. From here they look the same; processes that still confirm the other server after limits.redisSilenceMs tell them apart.
 */
export const isSamePlace = ({ own, other }: Objection): boolean => own.address === other.address && own.prefix === other.prefix;

const describe = ({ address, prefix }: RedisIdentity): string => `${address} with the prefix ${prefix}`;

/** The error message for callers and operators. */
export function objectionMessage(objection: Objection): string {
  const { reason, own, other, confirmedBy } = objection;
  const seconds = limits.redisSilenceMs / 1000;
  const confirmer = confirmedBy ? `process ${confirmedBy.pid} on ${confirmedBy.host}` : 'a process';
  if (isSamePlace(objection)) {
    return (
      `The Redis at ${describe(own)} is not the server that ${confirmer} confirmed: it has restarted or failed over, and is compared with Postgres ` +
      'as soon as every process has noticed. Nothing was changed. Try again shortly. If this stays, the address leads to two servers: ' +
      'make it lead to the one that holds the data.'
    );
  }
  switch (reason) {
    case 'confirmed':
      return (
        `The data of this Postgres is in use on another Redis: ${describe(other)}, confirmed by ${confirmer}. This process uses ${describe(own)}. ` +
        'Nothing was changed. Set REDIS_URL and REDIS_PREFIX to the Redis that holds the data, or DATABASE_URL to another database; ' +
        `to move the data to this Redis, stop every process of the other one and wait ${seconds} seconds.`
      );
    case 'silent':
      return (
        `The data of this Postgres was in use on another Redis: ${describe(other)}, by ${confirmer}. This process uses ${describe(own)}, and waits ` +
        `until the other Redis has not been confirmed for ${seconds} seconds. Nothing was changed.`
      );
    case 'superseded':
      return (
        `This Redis has an epoch that has ended: the data of this Postgres has moved from ${describe(own)} to ${describe(other)}. Nothing was changed. ` +
        'Set REDIS_URL and REDIS_PREFIX to the Redis that holds the data. To move the data back, stop every process of the other Redis, wait ' +
        `${seconds} seconds and run laurel restore, which saves the ledger entries of this Redis that Postgres does not have.`
      );
  }
}
