import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Live } from '../live/live.js';
import type { Refresh } from './observation.js';

export type WatchedLive = Pick<Live, 'connections' | 'views' | 'onLag'>;

/** Seconds: a change waits for the write-behind, and for the time between two messages. */
const lagBuckets = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 2, 5, 10];

/** The live streams of a process (docs/live.md). */
export function liveMetrics(registry: Registry, live: WatchedLive): Refresh {
  const registers = [registry];
  const connections = new Gauge({ name: 'laurel_live_connections', help: 'Open live streams.', registers });
  const views = new Gauge({
    name: 'laurel_live_views',
    help: 'Pages and lists of leaderboards that live streams watch, by process.',
    registers,
  });
  const messages = new Counter({ name: 'laurel_live_messages_total', help: 'Messages sent on live streams.', registers });
  const bytes = new Counter({ name: 'laurel_live_sent_bytes_total', help: 'Bytes sent on live streams.', registers });
  const slow = new Counter({
    name: 'laurel_live_slow_readers_total',
    help: 'How often messages of live streams were left out because the client read too slowly (LIVE_BUFFER_KB).',
    registers,
  });
  const lag = new Histogram({
    name: 'laurel_live_lag_seconds',
    help: 'Time from the oldest entry of a change in the ledger to the message about it.',
    buckets: lagBuckets,
    registers,
  });
  live.onLag = (seconds) => {
    lag.observe(seconds);
  };
  return () => {
    connections.set(live.connections.count);
    views.set(live.views.count);
    const { counts } = live.connections;
    for (const [counter, total] of [
      [messages, counts.messages],
      [bytes, counts.bytes],
      [slow, counts.slow],
    ] as const) {
      counter.reset();
      counter.inc(total);
    }
    return Promise.resolve();
  };
}
