import type { AppendedTable } from '../postgres/copy.js';
import type { InsertedColumn, Table } from '../postgres/insert.js';
import { userFields } from '../redis/contract.js';
import type { AwardRow, HistoryRow, ProfileRow, Reached, PlacedParticipant, HashRow, StreakRow, UserFact } from './batch.js';
import type { Frequency } from '../shared/calendar.js';
import { searchTerms } from '../shared/search-terms.js';
import type { AdjustmentFact, EventEntry, PauseFact, PeriodFact, PointsFact, ProfileFact } from './entry.js';

/** The tables that the write-behind fills, column by column; the migrations describe them. */

/** Replaces a row only by a higher revision of the same user. */
const newer = (table: string): string => `${table}.rev < excluded.rev`;

const userColumn = { name: 'user_id', type: 'text', value: ({ entry }: UserFact<unknown>) => entry.user } as const;
const revColumn = { name: 'rev', type: 'bigint', value: ({ entry }: UserFact<unknown>) => entry.rev } as const;
const atColumn = { name: 'at', type: 'moment', value: ({ entry }: UserFact<unknown>) => entry.at } as const;

export const events: AppendedTable<EventEntry> = {
  name: 'events',
  columns: [
    { name: 'id', type: 'uuid', value: ({ id }) => id },
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'metric', type: 'integer', value: ({ metric }) => metric },
    { name: 'value', type: 'float8', value: ({ value }) => value },
    { name: 'total', type: 'float8', value: ({ total }) => total },
    {
      name: 'attributes',
      type: 'jsonb',
      value: ({ attributes }) => (attributes.length > 0 ? JSON.stringify(Object.fromEntries(attributes)) : null),
    },
    { name: 'idempotency_key', type: 'text', value: ({ key }) => key ?? null },
    { name: 'day', type: 'date', value: ({ day }) => day },
    { name: 'at', type: 'moment', value: ({ at }) => at },
    { name: 'rev', type: 'bigint', value: ({ rev }) => rev },
  ],
};

export const awards: AppendedTable<AwardRow> = {
  name: 'awards',
  columns: [
    { name: 'id', type: 'uuid', value: ({ id }) => id },
    { name: 'event_id', type: 'uuid', value: ({ entry }) => entry.id },
    { name: 'user_id', type: 'text', value: ({ entry }) => entry.user },
    { name: 'system', type: 'integer', value: ({ system }) => system },
    { name: 'trigger', type: 'integer', value: ({ award }) => award.trigger },
    { name: 'awarded', type: 'bigint', value: ({ award }) => award.awarded },
    { name: 'total', type: 'bigint', value: ({ award }) => award.total },
    { name: 'boosts', type: 'int[]', value: ({ award }) => award.boosts },
    { name: 'day', type: 'date', value: ({ award }) => award.day },
    { name: 'at', type: 'moment', value: ({ award }) => award.at },
    { name: 'rev', type: 'bigint', value: ({ entry }) => entry.rev },
    { name: 'ordinal', type: 'integer', value: ({ award }) => award.ordinal },
  ],
};

export const adjustments: AppendedTable<UserFact<AdjustmentFact>> = {
  name: 'points_adjustments',
  columns: [
    userColumn,
    { name: 'id', type: 'uuid', value: ({ entry }) => entry.id },
    { name: 'system', type: 'integer', value: ({ fact }) => fact.system },
    { name: 'reason', type: 'text', value: ({ fact }) => fact.reason },
    { name: 'key_id', type: 'uuid', value: ({ fact }) => fact.keyId },
    { name: 'idempotency_key', type: 'text', value: ({ entry }) => entry.key ?? null },
    atColumn,
  ],
};

export const achievements: AppendedTable<UserFact<number>> = {
  name: 'user_achievements',
  columns: [userColumn, { name: 'achievement', type: 'integer', value: ({ fact }) => fact }, atColumn],
};

/** Attribute no → value, as JSON. */
function attributesOf(profile: ProfileFact): string {
  const prefix = userFields.attribute;
  const own = Object.entries(profile).filter(([field]) => field.startsWith(prefix));
  return JSON.stringify(Object.fromEntries(own.map(([field, value]) => [field.slice(prefix.length), value])));
}

/** The preferences of a user: field → JSON. */
function preferencesOf(profile: ProfileFact): string {
  const isPreference = (field: string): boolean => field === userFields.streakPreferences || field.startsWith(userFields.notification);
  return JSON.stringify(Object.fromEntries(Object.entries(profile).filter(([field]) => isPreference(field))));
}

type ProfileColumn = InsertedColumn<UserFact<ProfileFact>>;

const profileFlag = (name: string, field: string): ProfileColumn => ({
  name,
  type: 'boolean',
  value: ({ fact }) => (fact[field] === undefined ? null : fact[field] === '1'),
});
/** Redis stores a cleared field as an empty string. */
const profileClearable = (name: string, field: string, type: 'text' | 'jsonb' = 'text'): ProfileColumn => ({
  name,
  type,
  value: ({ fact }) => fact[field] || null,
});
const profileMoment = (name: string, field: string): ProfileColumn => ({ name, type: 'moment', value: ({ fact }) => Number(fact[field]) });

const profileColumns: readonly ProfileColumn[] = [
  revColumn,
  profileClearable('name', userFields.name),
  profileClearable('email', userFields.email),
  { name: 'search_terms', type: 'text', value: ({ fact }) => searchTerms(fact[userFields.name], fact[userFields.email]) },
  profileClearable('tz', userFields.tz),
  { name: 'sign_up_date', type: 'date', value: ({ fact }) => (fact[userFields.signUpDay] ? Number(fact[userFields.signUpDay]) : null) },
  profileFlag('subscribe_to_emails', userFields.subscribeToEmails),
  profileClearable('device_tokens', userFields.deviceTokens, 'jsonb'),
  { name: 'attributes', type: 'jsonb', value: ({ fact }) => attributesOf(fact) },
  { name: 'preferences', type: 'jsonb', value: ({ fact }) => preferencesOf(fact) },
  profileFlag('control', userFields.control),
  profileMoment('created', userFields.created),
  { name: 'created_day', type: 'integer', value: ({ fact }) => Number(fact[userFields.createdDay] ?? 0) },
  profileMoment('updated', userFields.updated),
];

export const users: Table<ProfileRow> = {
  name: 'users',
  columns: [
    { name: 'id', type: 'text', value: ({ entry }) => entry.user },
    ...profileColumns,
    { name: 'moved', type: 'moment', value: ({ zoneSince }) => zoneSince },
  ],
  conflict: {
    key: ['id'],
    assign: { moved: 'case when users.tz is distinct from excluded.tz then excluded.moved else users.moved end' },
    replaceWhen: newer('users'),
  },
};

/** Replaces the position only if the batch contains a newer one. */
const replaceIfReached = (table: string, column: string): string => `coalesce(nullif(excluded.${column}, ''), ${table}.${column})`;

export const userMetrics: Table<{ readonly event: EventEntry } & Reached> = {
  name: 'user_metrics',
  columns: [
    { name: 'user_id', type: 'text', value: ({ event }) => event.user },
    { name: 'metric', type: 'integer', value: ({ event }) => event.metric },
    { name: 'total', type: 'float8', value: ({ event }) => event.total },
    { name: 'at', type: 'moment', value: ({ event }) => event.at },
    { name: 'rev', type: 'bigint', value: ({ event }) => event.rev },
    { name: 'reached', type: 'text', value: ({ reached }) => reached },
  ],
  conflict: {
    key: ['user_id', 'metric'],
    replaceWhen: newer('user_metrics'),
    assign: { reached: replaceIfReached('user_metrics', 'reached') },
  },
};

export const userPoints: Table<UserFact<PointsFact> & Reached> = {
  name: 'user_points',
  columns: [
    userColumn,
    { name: 'system', type: 'integer', value: ({ fact }) => fact.no },
    { name: 'total', type: 'bigint', value: ({ fact }) => fact.total },
    { name: 'level', type: 'integer', value: ({ fact }) => fact.level || null },
    atColumn,
    revColumn,
    { name: 'reached', type: 'text', value: ({ reached }) => reached },
  ],
  conflict: {
    key: ['user_id', 'system'],
    replaceWhen: newer('user_points'),
    assign: { reached: replaceIfReached('user_points', 'reached') },
  },
};

/** The changed fields of a hash, as JSON. */
function fieldsOf({ fields }: HashRow): string {
  let json = '';
  for (const [field, { value, rev }] of fields) {
    json += `${json === '' ? '{' : ','}${JSON.stringify(field)}:"${rev} ${value.toString('base64')}"`;
  }
  return `${json}}`;
}

/** The users' Redis hashes, byte for byte: the changed fields replace those before. */
export const userHashes: Table<HashRow> = {
  name: 'user_hashes',
  columns: [
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'fields', type: 'jsonb', value: fieldsOf },
    { name: 'rev', type: 'bigint', value: ({ rev }) => rev },
  ],
  conflict: { key: ['user_id'], replaceWhen: newer('user_hashes'), assign: { fields: 'user_hashes.fields || excluded.fields' } },
};

/** The same for an entry that is written behind newer ones, which have not changed all of its fields. */
export const lateUserHashes: Table<HashRow> = {
  ...userHashes,
  conflict: {
    key: ['user_id'],
    assign: {
      fields: `user_hashes.fields || coalesce((
        select jsonb_object_agg(field, stored) from jsonb_each_text(excluded.fields) as late (field, stored)
         where field_rev(stored) > coalesce(field_rev(user_hashes.fields ->> field), -1)), '{}')`,
      rev: 'greatest(user_hashes.rev, excluded.rev)',
    },
  },
};

const frequencies: readonly Frequency[] = ['daily', 'weekly', 'monthly'];
const longestOf = (column: string): string => `greatest(user_streaks.${column}, excluded.${column})`;
type StreakColumn = InsertedColumn<StreakRow>;

export const userStreaks: Table<StreakRow> = {
  name: 'user_streaks',
  columns: [
    userColumn,
    ...frequencies.map((name): StreakColumn => ({ name, type: 'integer', value: ({ fact }) => fact[name] })),
    ...frequencies.map((name): StreakColumn => ({ name: `reached_${name}`, type: 'text', value: ({ reached }) => reached[name] ?? '' })),
    ...frequencies.map((name): StreakColumn => ({ name: `longest_${name}`, type: 'integer', value: ({ longest }) => longest[name] ?? 0 })),
    revColumn,
  ],
  conflict: {
    key: ['user_id'],
    replaceWhen: newer('user_streaks'),
    assign: {
      reached_daily: replaceIfReached('user_streaks', 'reached_daily'),
      reached_weekly: replaceIfReached('user_streaks', 'reached_weekly'),
      reached_monthly: replaceIfReached('user_streaks', 'reached_monthly'),
      longest_daily: longestOf('longest_daily'),
      longest_weekly: longestOf('longest_weekly'),
      longest_monthly: longestOf('longest_monthly'),
    },
  },
};

/** Written after the streaks of the batch, whose revision may be higher than that of the pauses. The offset guarantees that these pauses are newer. */
export const streakPauses: Table<UserFact<readonly PauseFact[]>> = {
  name: 'user_streaks',
  columns: [userColumn, { name: 'pauses', type: 'jsonb', value: ({ fact }) => JSON.stringify(fact) }, revColumn],
  conflict: { key: ['user_id'], assign: { rev: 'greatest(user_streaks.rev, excluded.rev)' } },
};

export const streakPeriods: Table<UserFact<PeriodFact>> = {
  name: 'streak_periods',
  columns: [
    userColumn,
    { name: 'frequency', type: 'text', value: ({ fact }) => fact.frequency },
    { name: 'period', type: 'integer', value: ({ fact }) => fact.period },
    { name: 'length', type: 'integer', value: ({ fact }) => fact.length },
    { name: 'how', type: 'text', value: ({ fact }) => fact.how },
    { name: 'reset_at', type: 'moment', value: ({ fact }) => fact.resetAt ?? null },
    { name: 'reset_length', type: 'integer', value: ({ fact }) => fact.resetLength ?? null },
  ],
  conflict: {
    key: ['user_id', 'frequency', 'period'],
    // What becomes of the period afterwards leaves it.
    assign: {
      reset_at: 'coalesce(excluded.reset_at, streak_periods.reset_at)',
      reset_length: 'greatest(excluded.reset_length, streak_periods.reset_length)',
    },
  },
};

export const leaderboardEntries: Table<PlacedParticipant> = {
  name: 'leaderboard_entries',
  columns: [
    { name: 'leaderboard', type: 'integer', value: ({ no }) => no },
    { name: 'run', type: 'integer', value: ({ run }) => run },
    { name: 'group', type: 'text', value: ({ group }) => group },
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'value', type: 'float8', value: ({ place }) => place.value },
    { name: 'seq', type: 'bigint', value: ({ place }) => place.seq },
  ],
  conflict: { key: ['leaderboard', 'run', 'user_id', 'group'], replaceWhen: 'leaderboard_entries.seq <= excluded.seq' },
};

export const leaderboardHistory: Table<HistoryRow> = {
  name: 'leaderboard_history',
  columns: [
    { name: 'leaderboard', type: 'integer', value: ({ board }) => board.no },
    { name: 'run', type: 'integer', value: ({ board }) => board.run },
    { name: 'user_id', type: 'text', value: ({ entry }) => entry.user },
    { name: 'day', type: 'date', value: ({ entry }) => entry.day },
    { name: 'at', type: 'moment', value: ({ entry }) => entry.at },
    { name: 'previous_rank', type: 'integer', value: ({ previousRank }) => previousRank },
    { name: 'rank', type: 'integer', value: ({ board }) => board.rank ?? null },
    { name: 'previous_value', type: 'float8', value: ({ previousValue }) => previousValue },
    // A user beyond the limit has a value, and is no participant.
    { name: 'value', type: 'float8', value: ({ board }) => (board.rank === undefined ? null : (board.value ?? null)) },
  ],
  conflict: {
    key: ['leaderboard', 'run', 'user_id', 'day'],
    replace: ['at', 'rank', 'value'],
    replaceWhen: 'leaderboard_history.at <= excluded.at',
  },
};
