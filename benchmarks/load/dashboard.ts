import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../measure/stats.js';
import type { Figures } from '../measure/summary.js';
import { apiKey } from '../servers/laurel.js';
import type { Samples, Screen } from './screens.js';

/** A signed-in dashboard. */
export class DashboardClient {
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly signal: AbortSignal;

  private constructor(url: string, cookie: string, signal: AbortSignal) {
    this.url = url;
    this.headers = { 'x-laurel-dashboard': '1', cookie };
    this.signal = signal;
  }

  static async signIn(url: string, signal: AbortSignal): Promise<DashboardClient> {
    const headers = { 'x-laurel-dashboard': '1', 'content-type': 'application/json' };
    const response = await fetch(`${url}/dashboard/session`, { method: 'POST', headers, body: JSON.stringify({ key: apiKey }) });
    const [cookie] = response.headers.getSetCookie();
    if (!response.ok || cookie === undefined) throw new Error(`The dashboard refused the key with ${response.status}.`);
    return new DashboardClient(url, cookie.split(';')[0] ?? '', signal);
  }

  /** Reads an address to its end, as JSON. Throws for a status other than a 2xx. */
  async read<T>(path: string): Promise<T> {
    this.signal.throwIfAborted();
    const response = await fetch(`${this.url}/dashboard/api${path}`, { headers: this.headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** One of each kind that a screen can show. */
  async samples(user: string): Promise<Samples> {
    const first = async (path: string): Promise<{ id: string; key: string }> => {
      const [one] = await this.read<{ id: string; key: string }[]>(path);
      if (!one) throw new Error(`${path} is empty.`);
      return one;
    };
    const [achievement, board, system] = [
      await first('/admin/v1/achievements?limit=1'),
      await first('/admin/v1/leaderboards?limit=1'),
      await first('/admin/v1/points?limit=1'),
    ];
    return {
      ...{ user, achievementId: achievement.id, leaderboardId: board.id, leaderboardKey: board.key },
      ...{ systemId: system.id, systemKey: system.key },
    };
  }

  /** Opens a screen: all of its reads at once, as a browser does. */
  async open(screen: Screen, of: Samples): Promise<void> {
    await Promise.all(screen.reads(of).map((path) => this.read(path)));
  }

  /** Opens a screen at an interval until the end, as an overview that is left open does. */
  async repeat(screen: Screen, of: Samples, { everyMs, end }: { readonly everyMs: number; readonly end: AbortSignal }): Promise<void> {
    while (!end.aborted) {
      await this.open(screen, of);
      await delay(everyMs, undefined, { signal: end }).catch(() => undefined);
    }
  }
}

/** How long a call takes, of several in turn. */
export async function timesOf(calls: number, call: () => Promise<unknown>): Promise<Figures> {
  const times = new Float64Array(calls);
  for (let at = 0; at < calls; at += 1) {
    const startedMs = performance.now();
    await call();
    times[at] = performance.now() - startedMs;
  }
  times.sort();
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
}
