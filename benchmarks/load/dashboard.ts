import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../measure/stats.js';
import type { Figures } from '../measure/summary.js';
import { apiKey } from '../servers/laurel.js';
import type { Reading, Samples, Screen } from './screens.js';

interface Listed {
  readonly id: string;
  readonly key: string;
  readonly runUnit?: string | null;
}

/** What a change of levels needs of a configuration file. */
interface LevelsFile {
  readonly file: { readonly points: readonly { readonly levels?: readonly { readonly points: number }[] }[] };
}

/** The file, in which each level begins at one point more: users who have just reached one would lose it. */
function withOtherLevels({ file }: LevelsFile): object {
  const points = file.points.map(({ levels = [], ...system }) => ({
    ...system,
    levels: levels.map((level) => ({ ...level, points: level.points + 1 })),
  }));
  return { ...file, points };
}

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
  async read<T>(reading: Reading): Promise<T> {
    this.signal.throwIfAborted();
    const { path, body } = typeof reading === 'string' ? { path: reading, body: undefined } : reading;
    const posted = body && { method: 'POST', body: JSON.stringify(body) };
    const headers = { ...this.headers, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${this.url}/dashboard/api${path}`, { headers, ...posted });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** One of each kind that a screen can show. */
  async samples(user: string): Promise<Samples> {
    const first = async (path: string, isOne: (one: Listed) => boolean = () => true): Promise<Listed> => {
      const one = (await this.read<Listed[]>(path)).find(isOne);
      if (!one) throw new Error(`${path} has none.`);
      return one;
    };
    const [achievement, board, weekly, system] = [
      await first('/admin/v1/achievements'),
      await first('/admin/v1/leaderboards'),
      await first('/admin/v1/leaderboards', ({ runUnit }) => typeof runUnit === 'string'),
      await first('/admin/v1/points'),
    ];
    return {
      ...{ user, achievementId: achievement.id, leaderboardId: board.id, leaderboardKey: board.key },
      ...{ systemId: system.id, systemKey: system.key, weeklyId: weekly.id },
      draft: withOtherLevels(await this.read<LevelsFile>('/admin/v1/configuration')),
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
