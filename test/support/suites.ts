import { startHost, startTenant, type World } from './world.js';

/** Starts a service for a suite, and gives each of its tests a new tenant of it: `host` is the service's own. */
export function tenantForEachTest(options: Parameters<typeof startTenant>[1], use: (tenant: World, host: World) => void): void {
  let host: World;
  let world: World;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());
  beforeEach(async () => {
    world = await startTenant(host, options);
    use(world, host);
  });
  afterEach(() => world.stop());
}
