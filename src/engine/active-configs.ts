import type { ConfigVersion } from '../config/schema/model.js';
import { ActiveConfig } from '../plan/active-config.js';
import { configWork, objectsIn } from '../threads/threads.js';

/** Makes a configuration ready, a large one in a thread. */
export async function activeConfig(version: ConfigVersion): Promise<ActiveConfig> {
  const { plan, work } = await configWork('compile', version, objectsIn(version.document));
  // Another thread returns the bytes without their class.
  return new ActiveConfig(version, { work, plan: { ...plan, blob: Buffer.from(plan.blob) } });
}

/**
 * The configurations that this process works with, by tenant. Those of a tenant are loaded one at a time, so that the last to arrive is the newest, and
 * a switch costs at most two loads, however many calls were in flight.
 */
export class ActiveConfigs {
  private readonly load: (tenant: number) => Promise<ConfigVersion>;
  private readonly configs = new Map<number, Promise<ActiveConfig>>();
  private readonly loading = new Map<number, Promise<ActiveConfig>>();
  /** Loads that begin when the one in progress has ended. */
  private readonly waiting = new Map<number, Promise<ActiveConfig>>();

  /** `load` returns the newest configuration of a tenant, from Postgres. */
  constructor(load: (tenant: number) => Promise<ConfigVersion>) {
    this.load = load;
  }

  /** The configuration that this process works with. */
  get(tenant: number): Promise<ActiveConfig> {
    return this.configs.get(tenant) ?? this.refresh(tenant);
  }

  /** Whether this process works with a tenant's configuration. */
  holds(tenant: number): boolean {
    return this.configs.has(tenant);
  }

  /** Tenant → version. Those that are being loaded for the first time are not among them. */
  async held(): Promise<ReadonlyMap<number, number>> {
    const held = new Map<number, number>();
    for (const [tenant, config] of this.configs) {
      const version = await config.then(
        (known) => known.version,
        () => undefined,
      );
      if (version !== undefined) held.set(tenant, version);
    }
    return held;
  }

  /**
   * Loads the configuration that is the newest at the time of the call, or a newer one. Running requests keep the one they began with until Redis
   * sends them back. While Postgres is away, a process keeps the one that it has.
   */
  refresh(tenant: number): Promise<ActiveConfig> {
    const loading = this.loading.get(tenant);
    if (!loading) return this.begin(tenant);
    // What is in progress may have read before the caller saved a version.
    let waiting = this.waiting.get(tenant);
    if (!waiting) {
      const begin = (): Promise<ActiveConfig> => {
        this.waiting.delete(tenant);
        return this.begin(tenant);
      };
      waiting = loading.then(begin, begin);
      this.waiting.set(tenant, waiting);
    }
    return waiting;
  }

  /** Refreshes a configuration under which Redis refused a call, unless it has been replaced since. */
  async replace(stale: ActiveConfig): Promise<void> {
    if ((await this.get(stale.tenant)) === stale) await this.refresh(stale.tenant);
  }

  private begin(tenant: number): Promise<ActiveConfig> {
    const before = this.configs.get(tenant);
    const loading = this.load(tenant).then(activeConfig);
    if (!before) this.configs.set(tenant, loading);
    this.loading.set(tenant, loading);
    loading.then(
      () => {
        this.configs.set(tenant, loading);
        this.loading.delete(tenant);
      },
      () => {
        if (!before) this.configs.delete(tenant);
        this.loading.delete(tenant);
      },
    );
    return loading;
  }
}
