import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readConfigFile } from '../../src/config/file/file.js';
import { eventSequence, seed, single, type Event } from './events.js';
import type { LoadRequest } from './load.js';
import { drawn, inTurn, sessions, trafficEvents, trafficOf, usersPresent, type Senders, type Traffic } from './traffic.js';

const wideFile = fileURLToPath(new URL('wide.yaml', import.meta.url));
/** The share of the users whose events `wide` sends. The others have only been there before. */
const activeShare = 0.6;

export interface WorkloadOptions {
  /** Users who exist before. */
  readonly users: number;
  /** Events a second of the fixed rate. */
  readonly ratePerS: number;
}

/** What `bench track` sends. */
export interface Workload {
  readonly name: string;
  /** The configuration file; the sample configuration without one. */
  readonly configFile?: string;
  /** An event of each user who exists before; without it, users come with their events. */
  readonly before?: () => () => Event;
  /** Events. `name` begins their idempotency keys. */
  readonly requests: (name: string) => () => LoadRequest;
}

const study: Workload = { name: 'study', requests: (name) => eventSequence(seed, { name }) };

/** Events of users who exist before. */
function ofTraffic(name: string, configFile: string, traffic: Traffic, { users }: WorkloadOptions, senders: () => Senders): Workload {
  return {
    ...{ name, configFile },
    before: () => trafficEvents(traffic, { name: 'before', seed, senders: inTurn(users) }),
    requests: (keys) => single(trafficEvents(traffic, { name: keys, seed, senders: senders() })),
  };
}

const wideTraffic = (): Traffic => trafficOf(readConfigFile(readFileSync(wideFile, 'utf8'), wideFile));

/** The workloads by their names. */
export const workloads: Readonly<Record<string, (options: WorkloadOptions) => Workload>> = {
  study: () => study,
  wide: (options) => ofTraffic('wide', wideFile, wideTraffic(), options, () => drawn(Math.ceil(options.users * activeShare), seed)),
  sessions: (options) => {
    const present = Math.min(usersPresent(options.ratePerS), Math.floor(options.users / 2));
    return ofTraffic('sessions', wideFile, wideTraffic(), options, () => sessions(options.users, present));
  },
};
