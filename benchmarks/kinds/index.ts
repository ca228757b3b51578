import type { Kind } from '../runner/kind.js';
import { batch } from './batch.js';
import { dashboard } from './dashboard.js';
import { functionKind } from './function.js';
import { growth } from './growth.js';
import { live } from './live.js';
import { memory } from './memory.js';
import { messages } from './messages.js';
import { processes } from './processes.js';
import { read } from './read.js';
import { restore } from './restore.js';
import { track } from './track.js';
import { writeBehind } from './write-behind.js';

/** All kinds, in the order in which `npm run bench` runs them. */
export const kinds: readonly Kind[] = [
  track,
  read,
  batch,
  processes,
  functionKind,
  growth,
  writeBehind,
  restore,
  memory,
  messages,
  dashboard,
  live,
];
