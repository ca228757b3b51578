import pino from 'pino';
import { startService, type Roles, type Service } from '../../src/app/service.js';
import type { World } from './world.js';

/** A second process, in effect, on the stores of a world: an API of its own, and its own memory of tenants and keys. */
export function startSecond(world: World, roles: Roles = { api: true, worker: false }): Promise<Service> {
  return startService({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined }, roles);
}
