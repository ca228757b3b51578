import { pushProviders } from '../shared/device-tokens.js';
import { awardMomentBytes, correctionMark, entryVersion, layoutTables, memberSeq, usedKeyMomentBytes, uuidBytes } from './layout.js';

/**
 * The contract between TypeScript and the function library in lua/: key names, fields of a user's hash, the order of arguments and the
 * outcomes. It is written here and nowhere else; the bundler turns it into the Lua module `contract`.
 */
/** Keys of one partition (tenant). All start with the same hash tag, so a tenant is one slot of a Redis Cluster. */
export const keyNames = {
  /** Hash: fields `metaFields`. The key that every call declares. */
  meta: 'meta',
  /**
   * Stream: one entry for each change of state. Field `e` is MessagePack of ledger/entry.ts; the others are the fields of the user's hash that have
   * changed, with their values as the hash has them. (Very many are joined in one field without a name: ledger/entry.ts.)
   */
  ledger: 'ledger',
  /** String: the test clock in milliseconds. */
  clock: 'clock',
  /** Hash per user (userRecords). Followed by the user's id. */
  user: 'u:',
  /**
   * Hash per user and metric or points system: idempotency key → id of the event or adjustment, and when (redis/encoding.ts). Followed by the no
   * of the metric or system, a colon and the user's id.
   */
  idempotency: 'i:',
  /** List per points system and user: the newest awards first. Followed by the system's no, a colon and the user's id. */
  awards: 'a:',
  /** Sorted set per leaderboard run. Followed by the leaderboard's no, a colon and the run. */
  board: 'b:',
  /** String: a compiled plan, MessagePack. Followed by its hash. */
  plan: 'plan:',
  /** Sorted set: users by the moment at which time will next do something to them. */
  due: 'due',
  /** Hash: device (shared/device-tokens.ts) → the user who owns it. */
  devices: 'dv',
  /** Hash: achievement no → how many users have completed it. */
  completions: 'c',
  /** Hash: level no → how many users have it; `d-` and a points system's no → the definition of the levels by which all users are counted. */
  levels: 'lv',
  /** Set per run of a leaderboard that is broken down: its groups. Followed by the leaderboard's no, a colon and the run. */
  groups: 'bg:',
  /** Hash: time zone → its offsets, MessagePack. Followed by the version of the time zone data. */
  zones: 'z:',
  /** String, empty: written before a wait for replicas (redis/turns.ts). Expires. */
  fence: 'fence',
} as const;

/**
 * Fields of a user's hash. Those that end in a dash are followed by the `no` of what they belong to. All but `name` and `due` are MessagePack; the
 * lists among them are laid out as layout.ts has it.
 */
export const userRecords = {
  /** List: layout `core`. */
  core: 'c',
  /** Map of the rest of the profile: userFields → text. */
  profile: 'u',
  /** Text, in a field of its own, since pages of leaderboards read it of many users. */
  name: 'n',
  /** Map: attribute no, as text → value. */
  attributes: 'a',
  /** Map: achievement no, as text → moment of completion, in milliseconds since 1970. */
  achievements: 'x',
  /** List: layout `metric`. */
  metric: 'm-',
  /** List: layout `points`. */
  points: 'p-',
  /** List: layout `streakPlaces`. */
  streakPlaces: 'k',
  /** When something is next due to the user, as the sorted set `due` has it; empty for never. It follows from the rest: neither ledger nor Postgres has it. */
  due: 'o',
} as const;

/** What a user's profile is made of, as callers change it and as the ledger tells it: name → text. */
export const userFields = {
  created: 'b',
  /** The local day of the creation, in days since 1970-01-01. */
  createdDay: 'j',
  updated: 'u',
  name: 'n',
  email: 'e',
  tz: 'z',
  /** The local date on which the user signed up, in days since 1970-01-01; empty when it has been cleared. */
  signUpDay: 'g',
  /** '1' or '0'. */
  subscribeToEmails: 's',
  /** JSON array of strings; empty for none. */
  deviceTokens: 'd',
  /** '1' or '0'. */
  control: 'c',
  /** Followed by the attribute's no. */
  attribute: 'a-',
  /** JSON of the user's own streak conditions (layout.ts). */
  streakPreferences: 'w',
  /** JSON array of channels, for each type of notification. */
  notification: 'n-',
} as const;

/** Fields of a partition's `meta` while it is being restored. */
export const restoringFields = {
  /** The epoch that begins with the restore, and names the restore as well. */
  restore: 'restoring',
  /** What Postgres had committed when it began: epoch, a space, and the last id. */
  from: 'restoredFrom',
  /** The last user who is back, and how many are. */
  cursor: 'restored',
  count: 'restoredUsers',
  /** What the ledger held of an epoch that has ended: the epoch, a space, and the last id that Postgres has. Empty for nothing. */
  left: 'leftBehind',
} as const;

/** In the hash `levels`, followed by a points system's no: the definition by which all users are counted (lua/modules/levels.lua). */
export const levelsDefinitionField = 'd-';

/** Fields of the partition's `meta`; by the last two, a Postgres that has been put back to an older state is detected. */
export const metaFields = {
  /** The epoch of this partition, absent while it is being restored. */
  epoch: 'epoch',
  /** The version of the active configuration, and the hash of its plan. */
  version: 'version',
  plan: 'plan',
  /** The newest number of the sequence that decides ties on leaderboards. */
  seq: 'seq',
  /** How many users there are. */
  users: 'users',
  /** The restore that may write the partition, or was the last that did (src/restore/lock.ts). */
  restorer: 'restorer',
  /** The `run_id` of the server on which the partition was opened; without it, every call replies notOpen. */
  server: 'server',
  /** An epoch, a space, and the id up to which the ledger was trimmed in that epoch, since Postgres had committed it. */
  trimmed: 'trimmed',
  /** The newest epochs before this one, separated by spaces. */
  past: 'past',
  /** The ledger id of the newest deletion of a user in this epoch: a user who is created after it is not the one before it. */
  deleted: 'deleted',
  /** MessagePack: the number of the segment of time that runs, and those that some users may still live in (redis/layout.ts, `segment`). */
  segments: 'segments',
} as const;

/** The first value of a function's reply. */
export const outcomes = {
  ok: 0,
  /** The idempotency key was used before. */
  replay: 1,
  /** This Redis has not been compared with Postgres since its start, or since it was emptied: call `open`. */
  notOpen: 2,
  /** The plan is not in Redis: store it and call again. Of an earlier configuration, it carries the version and the name of the plan. */
  unknownPlan: 3,
  /** The offsets of a time zone are missing for this moment: store them and call again. Carries the zone and the moment. */
  unknownZone: 4,
  /** The caller's configuration is older than the active one. */
  staleConfig: 5,
  /** The caller's configuration is newer than the active one: activate it. */
  newerConfig: 6,
  /** More time has passed than one call settles: call again. */
  again: 9,
  /** `trackBatch`: the part before this one has not been done to its end, so nothing of this one was: send again from there. */
  outOfTurn: 10,
  /** There are as many entries in the ledger as there may be before Postgres has committed some. */
  ledgerFull: 12,
  /** `open`: Redis lacks what Postgres has committed. Carries the newest id of its ledger, and how many workers were woken. */
  behind: 7,
  /** `open`: this partition has another epoch: of an older copy, or of another database. Carries the epoch, and how many workers were woken. */
  foreign: 8,
  /** `open`: Postgres lacks what it had committed. Carries the id up to which it had, or the epoch of Redis, of which it does not know. */
  ahead: 13,
  emailRequired: 20,
  totalOutOfRange: 21,
  outOfPoints: 25,
  alreadyCompleted: 26,
  notCompletable: 27,
  streaksDisabled: 28,
  tooManyFreezes: 29,
  tooManyPauses: 37,
  pauseUnknown: 30,
  nothingToRestore: 31,
  /** The running streak is longer than the one that was lost. */
  longerStreak: 32,
  /** The pause starts before the user's local date. */
  pauseTooEarly: 33,
  noFreeze: 34,
  noStreak: 36,
  /** Cap or floor leave nothing of an adjustment of points. */
  nothingToAdjust: 39,
  /** `track`: the configuration refuses the event, and its key has not been used. */
  refused: 35,
  /** The patch has a `signUpDate` after the user's local day. */
  signUpDateTooLate: 38,
  userExists: 22,
  userUnknown: 23,
  clockBackward: 24,
} as const;

/**
 * What every call but `open` and `awaitEntries` runs under, in one argument: it is the same for all calls of a process, so the library takes it
 * apart once and not a thousand times a second.
 */
export interface CallContext {
  /** The epoch that the caller's database has: a caller with another database is refused. */
  readonly epoch: string;
  /** The caller's configuration version. */
  readonly version: number;
  /** The hash of its plan. */
  readonly plan: string;
  /** The version of the caller's time zone data. */
  readonly zones: string;
  /** Whether time comes from the test clock. */
  readonly testClock: boolean;
  /** Entries of the ledger that may wait for Postgres. */
  readonly maxLedger: number;
}

const contextFields = ['epoch', 'version', 'plan', 'zones', 'testClock', 'maxLedger'] as const;

/** The context as the library takes it apart: the fields in order, with a space between two. */
export function contextArgument(context: CallContext): string {
  return contextFields.map((field) => (field === 'testClock' ? Number(context.testClock) : context[field])).join(' ');
}

const context = ['context'] as const;

/**
 * The arguments of each function, in order. A function that takes a list takes it last, as flat pairs, and says how many pairs there
 * are in an argument before it.
 */
export const functions = {
  /**
   * Compares Redis with what Postgres has committed, and lets the other functions work. `isFinal` is 1 when nothing that was read of Redis
   * before is going to be committed any more: a partition that is not open yet is only opened then, and else replies `notOpen`. `testClockMs` is
   * where the test clock is at least, empty without one.
   */
  open: ['epoch', 'lastId', 'isFinal', 'testClockMs'],
  /**
   * Whether the ledger has entries: 1 or 0 with `ok`, or `foreign` or `behind` when it is not of the epoch `epoch`, or lacks some of it, of
   * which Postgres has committed up to `lastId`. With 0, the next entry is published on the partition's channel `written`, so the worker need not poll until then.
   */
  awaitEntries: ['epoch', 'lastId'],
  /** Activates a configuration version, unless a newer one is active. `blob` is the plan; the switch is published on `channel`. */
  activate: [...context, 'blob', 'planTtlS', 'channel'],
  /**
   * One event, or the correction of one (redis/layout.ts, correctionMark). `value` is empty for an event that the configuration refuses unless
   * its key has been used, and which has nothing after the named arguments. `idempotencyKey` is in the form of redis/encoding.ts, empty for
   * none; `idBytes` is the event's id as bytes. After the named ones: `patchPairs` pairs of field and value, then pairs of event attribute no
   * and value.
   */
  track: [...context, 'user', 'metric', 'value', 'eventId', 'idempotencyKey', 'idBytes', 'patchPairs'],
  /**
   * Events of a batch. The parts of a `batch` are pipelined and numbered from 0: a part runs only when the part before it has
   * run to its end; `isLast` is 1 for the last of them. Then, for each event, the arguments of `track` with how many they are in the
   * place of the context.
   */
  trackBatch: [...context, 'batch', 'number', 'isLast'],
  /**
   * Deletes a user for good. `metrics` and `systems` are the `no` of all that there have ever been, with a space between two. Then, for
   * each place on a run that the user's hash need not know any more: leaderboard, run, group, seq.
   */
  deleteUser: [...context, 'user', 'entryId', 'metrics', 'systems'],
  /** Creates or changes a user. `mode` is create, update or upsert. Then `patchPairs` pairs of field and value. */
  identify: [...context, 'user', 'mode', 'entryId', 'patchPairs'],
  /**
   * Completes an achievement (its `no`). `mode` is update or upsert. With `dryRun` 1, only checks whether the user can complete it, here and
   * below. Then `patchPairs` pairs of field and value.
   */
  completeAchievement: [...context, 'user', 'mode', 'achievement', 'entryId', 'dryRun', 'patchPairs'],
  /**
   * Adds points in a system (its `no`), or takes them. `idempotencyKey` and `idBytes` as those of `track`; `keyId` is that of the admin key
   * with which it was asked for.
   */
  adjustPoints: [...context, 'user', 'system', 'amount', 'entryId', 'idempotencyKey', 'idBytes', 'reason', 'keyId'],
  /** Sets what a user prefers: `patchPairs` pairs of field and JSON. */
  setPreferences: [...context, 'user', 'entryId', 'patchPairs'],
  removeDeviceToken: [...context, 'user', 'entryId', 'token'],
  grantFreeze: [...context, 'user', 'entryId', 'dryRun'],
  takeFreeze: [...context, 'user', 'entryId', 'dryRun'],
  /** `first` and `last` are days; the entry's id becomes the pause's. */
  addPause: [...context, 'user', 'entryId', 'first', 'last'],
  removePause: [...context, 'user', 'entryId', 'pause'],
  restoreStreak: [...context, 'user', 'entryId', 'dryRun'],
  resetStreak: [...context, 'user', 'entryId', 'dryRun'],
  /**
   * Settles a user, and enters them into achievements and boards (their `no`, listed last) that have become active; -1 looks at the streak again.
   * A user whose number on a board is at most `since` gets `seq`, or the next one where it is empty. With `ranks` 1, notes the ranks that the user
   * has on boards that have been filled.
   */
  activateFor: [...context, 'user', 'entryId', 'ranks', 'since', 'seq'],
  /** Settles users, in this order: pairs of an id for the entry of settling, and a user. */
  settleUsers: [...context],
  /** Takes a number of the sequence of ties for each user there is: the last one before them, and how many they are. */
  reserveSeq: [...context],
  /** Counts a user at the level that the user now has in a points system (its `no`); `stored` is the level that Postgres knows, 0 for none. */
  relevel: [...context, 'user', 'entryId', 'system', 'stored'],
  /** Notes that all users are counted by a definition of a system's levels, if it is the active one. */
  levelsCounted: [...context, 'system', 'definition'],
  /** What users have been counted by in a points system, and how many have each of the levels, which are listed last by their `no`. */
  readLevels: [...context, 'system'],
  /** Whether users live in segments that have ended: the epoch, and the number of the segment that runs, 0 when none does. */
  readSegments: [...context],
  /** Drops the segments before `upTo`: all users have been taken over their ends. */
  dropSegments: [...context, 'upTo', 'epoch'],
  /** Settles users to whom something is due, now or as the test clock moves `upTo` a moment; then an id for the entry of each, as many as may be. */
  sweep: [...context, 'upTo'],
  /** Ends a run of a leaderboard, with so many participants in its final rankings at the most. */
  finalise: [...context, 'leaderboard', 'run', 'max', 'entryId'],
  /**
   * All fields of a user, the streak, and the counts of completions when `completions` is 1; then the newest ledger id, the moment and the user's
   * local day. `entryId` is for the entry of settling, here and below.
   */
  readUser: [...context, 'user', 'entryId', 'completions'],
  /** Some records of a user (userRecords), which are listed last. */
  readRecords: [...context, 'user', 'entryId'],
  /** A user's points in a system (its `no`), and the newest `awards` awards. */
  readPoints: [...context, 'user', 'entryId', 'system', 'awards'],
  /** A user's shown streak and pauses, the local day, and the revision (history/reader.ts). */
  readStreak: [...context, 'user', 'entryId'],
  /** The shown streaks of users; then pairs of an id for the entry of settling, and a user. */
  readStreaks: [...context],
  readCounts: [...context],
  /** A page of a board; of the run of the UTC date where `run` is empty. With `user`, `offset` counts from that user's place. */
  readBoard: [...context, 'leaderboard', 'run', 'group', 'offset', 'limit', 'user'],
  /** The places of users in a group of a board; of the run of the UTC date where `run` is empty. Then the users. */
  readPlaces: [...context, 'leaderboard', 'run', 'group'],
  /** How the values of a run and group (empty for none) are distributed; then values, of which each is counted how many are below it. */
  readDistribution: [...context, 'leaderboard', 'run', 'group'],
  /** One user's place on a board, in the run of the user's local date where `run` is empty, and the user's revision (history/reader.ts). */
  readPlace: [...context, 'user', 'entryId', 'leaderboard', 'run'],
  /**
   * Removes idempotency keys, unless another event has used them since: then groups of four, metric or system no, user, key and the id, as
   * bytes, of the event or adjustment that used it.
   */
  deleteKeys: [...context],
  /** The newest id of the ledger. */
  ledgerId: [...context],
  /** The time, and the ledger id of the newest deletion of a user. */
  newestDeletion: [...context],
  /** Reads the clock, and sets the test clock when `to` is not empty. */
  clock: [...context, 'to'],
} as const;

export type FunctionName = keyof typeof functions;

/** The functions whose callers are told that something was changed: with DURABILITY=replicated, their replies wait for replicas. */
export const keptFunctions: ReadonlySet<FunctionName> = new Set<FunctionName>([
  'track',
  'trackBatch',
  'deleteUser',
  'identify',
  'completeAchievement',
  'adjustPoints',
  'setPreferences',
  'removeDeviceToken',
  'grantFreeze',
  'takeFreeze',
  'addPause',
  'removePause',
  'restoreStreak',
  'resetStreak',
]);

/** The position of a function's first argument after the named ones, counted from 1 as Lua does. */
const rest = (name: FunctionName): number => functions[name].length + 1;

/** The arguments of a function by name; every one is sent, as text. */
export type FunctionArguments<F extends FunctionName> = Record<(typeof functions)[F][number], string | number | Buffer>;

/** Builds the argument list of a call in the order of the contract. `pairs` go last. */
export function orderArguments<F extends FunctionName>(
  name: F,
  named: FunctionArguments<F>,
  pairs: readonly (string | Buffer)[] = [],
): (string | number | Buffer)[] {
  const order: readonly (typeof functions)[F][number][] = functions[name];
  const list: (string | number | Buffer)[] = order.map((argument) => named[argument]);
  for (const item of pairs) list.push(item);
  return list;
}

/** The functions that run without a configuration. */
export type PlainFunction = 'open' | 'awaitEntries';

/** The channels: a partition's prefix, and one of these. */
export const channelNames = {
  /** A tenant has a new configuration; of the account: tenants or keys have changed. */
  changes: 'changes',
  /** A ledger that had been read to its end has a new entry. */
  written: 'written',
  /** What has changed in a tenant, for live streams (src/live/announcement.ts). */
  live: 'live',
  /** A process of the API has live streams of a tenant (src/live/announcer.ts). */
  watched: 'watched',
} as const;

/** Keys of the account, which is no tenant (src/access/account.ts). They share a hash tag of their own. */
export const accountKeyNames = {
  /** String, empty: processes write it to notice that Redis refuses writes. Expires. */
  probe: 'probe',
  /** String, empty: a sign-in came with X-Forwarded-For while TRUSTED_PROXIES was 0. Expires. */
  untrustedProxy: 'untrusted-proxy',
} as const;

/** The start of the account's keys and channels. */
export function accountPrefix(prefix: string): string {
  return `{${prefix}:account}:`;
}

/** The hash tag of a tenant's partition, followed by the colon that all of its keys continue after. */
export function partitionPrefix(prefix: string, tenant: number): string {
  return `{${prefix}:${tenant}}:`;
}

/** The contract as a Lua module. Lists of names become tables from name to position. */
export function contractModule(constants: Readonly<Record<string, number>>): string {
  const table = (entries: readonly (readonly [string, string | number])[]): string =>
    `{ ${entries.map(([name, value]) => `${name} = ${typeof value === 'number' ? value : `'${value}'`}`).join(', ')} }`;
  const positions = (Object.keys(functions) as FunctionName[]).map(
    (name) => `  ${name} = ${table([...functions[name].map((argument, i) => [argument, i + 1] as const), ['rest', rest(name)]])},`,
  );
  return [
    'return {',
    `  key = ${table(Object.entries(keyNames))},`,
    `  record = ${table(Object.entries(userRecords))},`,
    `  field = ${table(Object.entries(userFields))},`,
    ...layoutTables(),
    `  entryVersion = ${entryVersion},`,
    `  awardMoment = '>i${awardMomentBytes}',`,
    `  usedKeyMoment = '>I${usedKeyMomentBytes}',`,
    `  idBytes = ${uuidBytes},`,
    `  correctionByte = ${correctionMark.charCodeAt(0)},`,
    `  restoring = ${table(Object.entries(restoringFields))},`,
    `  meta = ${table(Object.entries(metaFields))},`,
    `  pushProvider = ${table(pushProviders.map((provider, i) => [provider, i + 1] as const))},`,
    `  memberSeq = ${table(Object.entries(memberSeq))},`,
    `  levelsDefinition = '${levelsDefinitionField}',`,
    `  context = { ${contextFields.map((field) => `'${field}'`).join(', ')} },`,
    `  outcome = ${table(Object.entries(outcomes))},`,
    `  channel = ${table(Object.entries(channelNames))},`,
    `  limit = ${table(Object.entries(constants))},`,
    '  arg = {',
    ...positions.map((line) => `  ${line}`),
    '  },',
    '}',
  ].join('\n');
}
