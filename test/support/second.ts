import pino from 'pino';
import { startService, type Roles, type Service } from '../../src/app/service.js';
import type { World } from './world.js';

/** A second service on the stores of a world, with its own API and caches, like another process. */
export function startSecond(world: World, roles: Roles = { api: true, worker: false }): Promise<Service> {
  return startService({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined }, roles);
}
