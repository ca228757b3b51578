import type { Account } from '../access/account.js';
import type { Principal } from '../access/key-ring.js';
import type { RankingsQuery } from '../engine/leaderboards.js';
import { Connections, type LiveBounds } from './connections.js';
import { EventStream } from './event-stream.js';
import { Views, type ViewsOptions } from './views.js';

export interface LiveOptions extends Omit<ViewsOptions, 'onChange'> {
  readonly account: Account;
  readonly bounds: LiveBounds;
}

/** A caller, the tenant of the request, and the leaderboard to watch. */
export interface BoardRequest {
  readonly principal: Principal;
  /** `tenants.no`. */
  readonly tenant: number;
  readonly key: string;
  readonly query: RankingsQuery;
  /** The id of the last message that the client has received, if it doesn't send it in a header. */
  readonly lastId: string | undefined;
}

/** The live streams of this process. */
export class Live {
  readonly connections: Connections;
  readonly views: Views;
  /** Called when a change is sent, with the seconds since it was made. */
  onLag: ((seconds: number) => void) | undefined;

  constructor({ account, bounds, ...options }: LiveOptions) {
    this.connections = new Connections({ bounds, now: () => account.now(), recheck: (key) => account.recheck(key) });
    const onChange = (changedMs: number): void => this.onLag?.(Math.max(Date.now() - changedMs, 0) / 1_000);
    this.views = new Views({ ...options, onChange });
    account.onChange(() => {
      this.connections.recheck();
    });
  }

  /** Watches a page or a list of users of a leaderboard. Throws as readRanking does, and a 429 or a 503 when there are too many streams. */
  async watchBoard({ principal, tenant, key, query, lastId }: BoardRequest): Promise<EventStream> {
    const slot = this.connections.reserve(tenant, principal);
    try {
      const view = await this.views.open(tenant, key, query);
      return new EventStream((response) => {
        this.connections.start(slot, response, { view, lastId });
      });
    } catch (error) {
      this.connections.release(slot);
      throw error;
    }
  }

  /** To be called each second. */
  tick(): void {
    this.connections.tick();
    this.views.tick();
  }

  /** Ends all streams, so that the clients connect to another process. */
  close(): void {
    this.connections.close();
    this.views.stop();
  }
}
