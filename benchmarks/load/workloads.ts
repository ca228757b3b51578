import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { readConfigFile } from '../../src/config/file/file.js';
import { eventSequence, seed, single, usualUsers, type Event } from './events.js';
import type { LoadRequest } from './load.js';
import { drawn, inTurn, sessions, trafficEvents, trafficOf, usersPresent, type Senders } from './traffic.js';

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
  /** Its users are `user-1` to `user-<users>`. */
  readonly users: number;
  /** The text of the configuration file; the sample configuration without one. */
  readonly config?: string;
  /** An event of each user who exists before; without it, users come with their events. */
  readonly before?: () => () => Event;
  /** Whether the configuration is wide.yaml, which has been written in plain SQL too. */
  readonly isWide?: boolean;
  /** Events. `name` begins their idempotency keys. */
  readonly requests: (name: string) => () => LoadRequest;
}

const study: Workload = { name: 'study', users: usualUsers, requests: (name) => eventSequence(seed, { name }) };

/** Events on a configuration of users who exist before. Throws with the problems of the file. */
function ofConfig(name: string, file: string, { users }: WorkloadOptions, senders: () => Senders): Workload {
  const config = readFileSync(file, 'utf8');
  const traffic = trafficOf(readConfigFile(config, file));
  return {
    ...{ name, users, config },
    before: () => trafficEvents(traffic, { name: 'before', seed, senders: inTurn(users) }),
    requests: (keys) => single(trafficEvents(traffic, { name: keys, seed, senders: senders() })),
  };
}

/** The name of the workload of an operator's own configuration. */
export const ownWorkload = 'own';

/** Events on an operator's own configuration, of all users alike. Its endpoints get no webhooks: a benchmark sends nothing to others. */
export function workloadOf(file: string, options: WorkloadOptions): Workload {
  const workload = ofConfig(ownWorkload, file, options, () => drawn(options.users, seed));
  const { webhooks, ...contents } = parse(workload.config ?? '') as Readonly<Record<string, unknown>>;
  return webhooks === undefined ? workload : { ...workload, config: stringify(contents) };
}

/** The workloads by their names. */
export const workloads: Readonly<Record<string, (options: WorkloadOptions) => Workload>> = {
  study: () => study,
  wide: (options) => ({
    ...ofConfig('wide', wideFile, options, () => drawn(Math.ceil(options.users * activeShare), seed)),
    isWide: true,
  }),
  sessions: (options) => {
    const present = Math.min(usersPresent(options.ratePerS), Math.floor(options.users / 2));
    return { ...ofConfig('sessions', wideFile, options, () => sessions(options.users, present)), isWide: true };
  },
};
