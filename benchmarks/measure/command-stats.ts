import type { Redis } from 'ioredis';

/** What Redis says of a command: how often it ran and how long that took inside Redis, without reading it and sending its reply. */
export interface CommandStat {
  readonly calls: number;
  readonly us: number;
}

export type CommandStats = ReadonlyMap<string, CommandStat>;

/** `INFO commandstats` by the command's name. Commands that a function makes are counted as well. */
export async function readStats(redis: Redis): Promise<CommandStats> {
  const info = await redis.info('commandstats');
  return new Map(
    [...info.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm)].map(([, name = '', calls, us]) => [
      name,
      { calls: Number(calls), us: Number(us) },
    ]),
  );
}

/** Command statistics of `work`. No other client may use this Redis during it. */
export async function statsOf(redis: Redis, work: () => Promise<unknown>): Promise<CommandStats> {
  await redis.config('RESETSTAT');
  await work();
  const stats = new Map(await readStats(redis));
  for (const own of ['config|resetstat', 'info']) stats.delete(own);
  return stats;
}

/** The sum over commands, apart from those that are named. */
export function total(stats: CommandStats, without: readonly string[] = []): CommandStat {
  const counted = [...stats].filter(([name]) => !without.includes(name)).map(([, stat]) => stat);
  return { calls: counted.reduce((sum, { calls }) => sum + calls, 0), us: counted.reduce((sum, { us }) => sum + us, 0) };
}
