/**
 * How packed values are laid out, those of a user's hash and the entries of the ledger: MessagePack of a list, in which each place has a
 * meaning. Both languages read it here: TypeScript takes the positions, from 0, and the contract module has them for Lua, from 1. A place
 * without a value holds `false`. The function `state_layout` of Postgres (migrations/0001_schema.sql) repeats the names of what users' hashes
 * hold for analysts; test/durability/state-in-words.test.ts compares the two.
 */
const streak = ['length', 'started', 'last', 'extendedAt', 'grace', 'counted', 'counts', 'lostLength', 'lostStarted'] as const;

const streakOf = <F extends string>(frequency: F) => streak.map((place) => `${frequency}.${place}` as const);

export const userLayouts = {
  /** What every call about a user looks at. */
  core: [
    /** Counts the changes of this user; state in Postgres is replaced only by a higher one. */
    'rev',
    /** Milliseconds since 1970, and the local day of it, in days since 1970-01-01. */
    'created',
    'createdDay',
    /** The newest local day on which something of the user's was counted: an entry for an earlier one, after a move west, has `back` set. */
    'newestDay',
    /** The user's own time zone; empty when it has been cleared. */
    'tz',
    /** Up to which UTC hour, and which local day, time triggers have fired, and anniversaries come. */
    'settledHour',
    'settledDay',
    /** A list of { id, first, last }, days. */
    'pauses',
    /** JSON of the user's own streak settings: { enabled, mode, metrics: [{ key (a metric's no, as text), threshold }], daysOff }. */
    'streakPreferences',
    /** What all streaks have in common, and then each of them (lua/modules/streaks.lua). */
    'streakDay',
    'freezes',
    'earnedUpTo',
    'home',
    ...streakOf('daily'),
    ...streakOf('weekly'),
    ...streakOf('monthly'),
    /** The number of the segment that the user lives in (lua/modules/segments.lua); absent for 0. */
    'segment',
    /** The first day that is numbered by the configured weeks, where `weekStart` has changed since; days before it by the other weeks. */
    'weeksFrom',
    /** When the user last moved between time zones, of users to whom days bring something: none of that is dated before it. In milliseconds since 1970. */
    'movedAt',
    /** The local date on which the user signed up, in days since 1970-01-01. */
    'signUpDay',
  ],
  /** One metric. Maps are by `no`, as text. */
  metric: [
    'total',
    /** Trigger → its progress, and the highest that it has been; without the latter, that is the progress itself. */
    'progress',
    'highs',
    /** Metric achievement with filters → the sum of the events that match it. */
    'sums',
    /** Leaderboard that ranks the metric → the user's place (lua/modules/leaderboards.lua). */
    'places',
  ],
  /** One points system. */
  points: [
    'total',
    /** The no of the level that the user is counted at; 0 for none. */
    'level',
    /** Leaderboard that ranks the points → the user's place. */
    'places',
  ],
  /** Leaderboards that rank streaks. */
  streakPlaces: ['places'],
} as const;

const layouts = {
  ...userLayouts,
  /** One of the streaks in the core. */
  streak,
  /** An entry of the ledger (ledger/entry.ts). */
  entry: [
    /** entryVersion. */
    'version',
    'kind',
    'id',
    'user',
    'at',
    'day',
    'rev',
    'points',
    'boards',
    'achieved',
    'profile',
    'streaks',
    'periods',
    'pauses',
    'freezes',
    'back',
    'metric',
    'value',
    'total',
    'same',
    'attributes',
    'key',
    'streak',
    'no',
    'run',
    'max',
    'segment',
    'adjustment',
  ],
  /** Facts in entries: PointsFact, AwardFact, BoardFact, PeriodFact and StreakFact of ledger/entry.ts. */
  pointsFact: ['no', 'before', 'total', 'level', 'levelBefore', 'same', 'awards'],
  awardFact: ['trigger', 'ordinal', 'awarded', 'total', 'boosts', 'at', 'day'],
  boardFact: ['no', 'run', 'group', 'seq', 'value', 'rank', 'previousRank', 'previousValue', 'threshold'],
  periodFact: ['frequency', 'period', 'length', 'how', 'isShown', 'resetAt', 'resetLength'],
  streakFact: ['length', 'started', 'current', 'isExtended', 'extendedAt', 'extended', 'freezes', 'weeksFrom', 'daysOff', 'isPaused'],
  /** SegmentFact of ledger/entry.ts. */
  segment: ['no', 'at', 'version', 'plan', 'next'],
  /** AdjustmentFact of ledger/entry.ts. */
  adjustment: ['system', 'reason', 'keyId'],
  /**
   * An element of a list of recent awards (history/recent-awards.ts): no list, but one MessagePack value after the other, the last of them boosts, as
   * many as there are. After the values come the id of the entry, 16 bytes, and the moment in milliseconds since 1970. `dayOffset` is the user's
   * local day, counted from the UTC day of that moment. An award that has id, moment and day in common with the one in front of it, as those of one
   * event have, ends with its values, and its `dayOffset` is `false`. So the start of a list can be read without the rest of it.
   */
  recentAward: ['dayOffset', 'trigger', 'ordinal', 'awarded', 'total', 'boosts'],
} as const;

/** Bytes of an id (a UUID) where it is packed. */
export const uuidBytes = 16;

/** The start of the idempotency key of a correction, before the id of the event that it corrects: a character that a caller's key can't contain. */
export const correctionMark = '\u0002';

/** Bytes of the moment behind the id of the event that used an idempotency key, the first one highest. */
export const usedKeyMomentBytes = 6;

/** Bytes of the moment of a recent award, the first one highest, with a sign. */
export const awardMomentBytes = 6;

/**
 * The bytes of the number with which a member of a board starts (lua/modules/boards.lua), the highest first. The number is counted down, so that
 * members sort against their numbers: in the short form, for the first 2^31 numbers of a partition, the highest bit is set, in the long form it is not.
 */
export const memberSeq = { shortBytes: 4, longBytes: 6 } as const;

/** The version of the layout of entries. A reader refuses others. */
export const entryVersion = 1;

export type Layout = keyof typeof layouts;
export type Place<L extends Layout> = (typeof layouts)[L][number];

/** The position of a place, from 0. */
export function placeOf<L extends Layout>(layout: L, place: Place<L>): number {
  return (layouts[layout] as readonly string[]).indexOf(place);
}

/** What stands at the places of a list, by their names, but for those with `false`: they hold nothing. */
export function named(layout: Layout, list: readonly unknown[]): Record<string, unknown> {
  const places: readonly string[] = layouts[layout];
  const values: Record<string, unknown> = {};
  for (let i = 0; i < list.length; i += 1) {
    const place = places[i];
    if (place !== undefined && list[i] !== false && list[i] !== null) values[place] = list[i];
  }
  return values;
}

/**
 * The layouts as Lua tables: place → position from 1, and `size`. A streak in the core is one place there, its base: to which the position of a
 * place of the streak is added. `list_entry` makes the list of an entry of the ledger from a table of its fields, `new_board_fact` a BoardFact
 * without anything.
 */
export function layoutTables(): string[] {
  // Absent fields are false: cmsgpack would pack a list with holes as a map.
  const fields = layouts.entry.map((field) => (field === 'version' ? entryVersion : `entry.${field} or false`));
  const tables = Object.entries(layouts).map(([layout, places]) => {
    const positions = new Map<string, number>();
    for (const [at, place] of places.entries()) {
      const [name, within] = place.split('.') as [string, string?];
      if (!positions.has(name)) positions.set(name, within === undefined ? at + 1 : at);
    }
    return `  ${layout} = { ${[...positions].map(([name, at]) => `${name} = ${at}`).join(', ')}, size = ${places.length} },`;
  });
  return [
    ...tables,
    `  list_entry = function(entry) return { ${fields.join(', ')} } end,`,
    `  new_board_fact = function() return { ${layouts.boardFact.map(() => 'false').join(', ')} } end,`,
  ];
}
