import { eachSecond } from '../jobs/job.js';
import { Live } from '../live/live.js';
import type { Observed } from '../observe/observed.js';
import type { Listener } from '../redis/connection.js';
import type { Context } from './context.js';

/** Starts the live streams of a process of the API. The server closes them before it stops. */
export function startLive(context: Context, listener: Listener, watch: Observed): Live {
  const { engine, clock, history, account, settings, log, lifecycle } = context;
  const live = new Live({ stores: { engine, clock, history }, account, bounds: settings, listener, log });
  watch.live(live);
  const seconds = eachSecond(() => {
    live.tick();
  }, log);
  lifecycle.onStop('live streams', () => seconds.stop());
  return live;
}
