import { eachSecond } from '../jobs/job.js';
import { Live } from '../live/live.js';
import type { Observed } from '../observe/observed.js';
import type { Listener } from '../redis/connection.js';
import { channelNames } from '../redis/contract.js';
import type { Context } from './context.js';

/** Starts the live streams of a process of the API. The server closes them before it stops. */
export function startLive(context: Context, listener: Listener, observed: Observed): Live {
  const { redis, engine, clock, history, account, settings, log, lifecycle } = context;
  const watch = (tenant: number, interest: string): void => {
    redis.publish(engine.partition(tenant) + channelNames.watched, interest).catch(() => undefined);
  };
  const live = new Live({ stores: { engine, clock, history }, account, bounds: settings, listener, log, watch });
  observed.live(live);
  const seconds = eachSecond(() => {
    live.tick();
  }, log);
  lifecycle.onStop('live streams', () => seconds.stop());
  return live;
}
