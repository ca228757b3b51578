import type { Logger } from 'pino';
import { startLocalPostgres } from '../local-stores/local-postgres.js';
import { startLocalRedis } from '../local-stores/local-redis.js';
import { readStatus, type Status } from '../observe/status.js';
import { createPool } from '../postgres/pool.js';
import { connectRedis, messageOf } from '../redis/connection.js';
import { OperatorError } from '../shared/errors.js';
import { counted } from '../shared/counted.js';
import { limits } from '../shared/limits.js';
import { builtInFolder, replicationOf, type Settings } from '../app/settings.js';
import type { Print } from '../app/output.js';

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

const unknown = 'unknown';

const entries = (count: number): string => counted(count, 'entry', 'entries');

const discardedText = ({ lost, givenUp }: { readonly lost: number; readonly givenUp: number }): string =>
  lost + givenUp > 0 ? `, ${entries(lost)} lost and ${givenUp} given up in restores` : '';

function linesOf({ redis, postgres, processes, tenants, lagEntries, lagSeconds, listed }: Status): string[] {
  const leases = postgres?.leases;
  return [
    redis
      ? `Redis      ${redis.version}, ${megabytes(redis.memoryBytes)}, ${redis.replicas} replicas, append-only file ${redis.appendOnlyFile ? 'ok' : 'NOT OK'}`
      : `Redis      ${unknown}`,
    postgres
      ? `Postgres   ${postgres.version}, ${megabytes(postgres.databaseBytes)}, schema ${postgres.schema}, ${counted(postgres.deadLetters, 'dead letter')}${discardedText(postgres.discarded)}`
      : `Postgres   ${unknown}`,
    `Processes  ${processes?.length ?? unknown}`,
    ...(processes ?? []).map(
      ({ role, host, pid, redis: at, prefix, confirmed }) =>
        `  ${role} on ${host}, process ${pid}, Redis ${at}, prefix ${prefix}${confirmed ? '' : ', not serving: its Redis is unavailable or out of sync'}`,
    ),
    `Leases     ${leases?.length ?? unknown}`,
    ...(leases ?? []).map(({ holder, tenants: of }) => `  ${holder}: ${counted(of, 'tenant')}`),
    `Ledger     ${lagEntries === null || lagSeconds === null ? unknown : `${entries(lagEntries)}, ${lagSeconds.toFixed(1)} s behind`}`,
    `Tenants    ${tenants ?? unknown}`,
    ...(listed ?? []).map(
      (one) =>
        `  ${one.name}: ${one.state}${one.restored === null ? '' : ` (${counted(one.restored, 'user')} so far)`}, epoch ${one.epoch}` +
        `${one.redisEpoch === one.epoch ? '' : ` (Redis ${one.redisEpoch ?? 'none'})`}, committed ${one.committed}, ` +
        `Redis has ${one.newest}, ${entries(one.lagEntries)} behind`,
    ),
  ];
}

export interface StatusOptions {
  readonly settings: Settings;
  readonly log: Logger;
  /** Prints the report. */
  readonly print: Print;
  /** Prints messages about the built-in stores. */
  readonly note: Print;
  readonly json: boolean;
}

/**
 * `laurel status`: prints the state of the installation and its problems. Changes nothing, and migrates nothing. Throws an OperatorError that lists
 * every problem.
 */
export async function status({ settings, log, print, note, json }: StatusOptions): Promise<void> {
  const stops: (() => Promise<unknown>)[] = [];
  const builtIn = async (start: typeof startLocalPostgres): Promise<string> => {
    const store = await start({ dataDir: settings.dataDir, log: note, create: false });
    stops.push(() => store.stop());
    return store.url;
  };
  const onError = (error: Error): void => {
    log.debug({ err: error }, 'store unavailable');
  };
  try {
    const redisUrl = settings.redisUrl ?? (await builtIn(startLocalRedis));
    const pool = createPool(settings.databaseUrl ?? (await builtIn(startLocalPostgres)), limits.statusConnections, onError);
    stops.push(() => pool.end());
    const problems: string[] = [];
    const { redisCaFile: caFile, redisCertFile: certFile, redisKeyFile: keyFile, redisSentinelPassword: sentinelPassword } = settings;
    const redis = await connectRedis({ url: redisUrl, caFile, certFile, keyFile, sentinelPassword }, onError).catch((error: unknown) => {
      problems.push(messageOf(error));
      return undefined;
    });
    stops.push(() => Promise.resolve(redis?.disconnect()));
    const requiredReplicas = replicationOf(settings)?.replicas;
    const stores = { redis, pool, prefix: settings.redisPrefix, dataDir: builtInFolder(settings), requiredReplicas };
    const found = await readStatus({ ...stores, problems });
    for (const line of json ? [JSON.stringify(found, null, 2)] : linesOf(found)) print(line);
    if (found.problems.length > 0) throw new OperatorError(found.problems.join('\n'));
  } finally {
    for (const stop of stops.reverse()) await stop().catch(() => undefined);
  }
}
