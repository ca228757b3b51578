import type { Account } from '../access/account.js';
import type { LiveScope, Principal } from '../access/key-ring.js';
import type { Engine } from '../engine/engine.js';
import type { RankingsQuery, Stores } from '../engine/leaderboards.js';
import { isSameUser } from '../engine/users.js';
import { LaurelError } from '../shared/errors.js';
import type { View } from './board-view.js';
import { Connections, type LiveBounds, sendElsewhere } from './connections.js';
import { EventStream } from './event-stream.js';
import { Views, type ViewsOptions } from './views.js';

export interface LiveOptions extends Omit<ViewsOptions, 'onChange' | 'onDeleted'> {
  readonly account: Account;
  readonly bounds: LiveBounds;
}

/** A caller, and the tenant of the request. */
export interface WatchRequest {
  readonly principal: Principal;
  /** `tenants.no`. */
  readonly tenant: number;
  /** The id of the last message that the client has received, if it doesn't send it in a header. */
  readonly lastId: string | undefined;
}

/** The live streams of this process. */
export class Live {
  readonly connections: Connections;
  readonly views: Views;
  private readonly stores: Stores;
  /** Called when a change is sent, with the seconds since it was made. */
  onLag: ((seconds: number) => void) | undefined;

  constructor({ account, bounds, ...options }: LiveOptions) {
    this.connections = new Connections({ bounds, now: () => account.now(), recheck: (key) => account.recheck(key) });
    const onChange = (changedMs: number): void => this.onLag?.(Math.max(Date.now() - changedMs, 0) / 1_000);
    const onDeleted = (tenant: number, users: ReadonlySet<string>): void => {
      this.connections.endOf(tenant, users);
    };
    this.stores = options.stores;
    this.views = new Views({ ...options, onChange, onDeleted });
    account.onChange((change) => {
      this.connections.recheck(change);
    });
  }

  /** Watches a page or a list of users of a leaderboard. Throws as readRanking does, and a 429 or a 503 when there are too many streams. */
  watchBoard(request: WatchRequest, key: string, query: RankingsQuery): Promise<EventStream> {
    return this.stream(request, () => this.views.open(request.tenant, key, query));
  }

  /** Watches a user. Throws a 404 for an unknown user, and a 429 or a 503 when there are too many streams. */
  watchUser({ principal, tenant, lastId }: WatchRequest, user: string): Promise<EventStream> {
    return this.stream({ principal, tenant, lastId }, () => this.views.openUser(tenant, user));
  }

  private async stream({ principal, tenant, lastId }: WatchRequest, open: () => Promise<View>): Promise<EventStream> {
    // Not an error, after which EventSource would not connect to another process.
    if (this.connections.isClosing) return new EventStream(sendElsewhere);
    const slot = this.connections.reserve(tenant, principal);
    try {
      // After the slot is reserved: a deletion from here on ends it.
      if (principal.live) await requireUserOf(this.stores.engine, tenant, principal.live);
      const view = await open();
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

/** Throws a 401 if the user that a token is bound to was deleted, even if there is another one with the same id. */
async function requireUserOf(engine: Engine, tenant: number, { userId, asOf }: LiveScope): Promise<void> {
  if (userId === undefined || (await isSameUser(engine, tenant, userId, asOf))) return;
  throw new LaurelError('unauthorized', 'The user of this live token was deleted: get another token with POST /v1/live-tokens.');
}
