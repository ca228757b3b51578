-- Achievements, streaks, time, and leaderboards with runs and groups.

alter table users add column created_day integer not null default 0;
-- Fields of Redis (streakPreferences, notification-…) → their JSON.
alter table users add column preferences jsonb not null default '{}';

-- Where in the ledger the total was reached: ties among users who are entered on a leaderboard later go by it. Ids of stream entries, padded so
-- that they sort as texts.
alter table user_metrics add column reached text not null default '';
alter table user_points add column reached text not null default '';

create table user_achievements (
  tenant integer not null,
  user_id text not null,
  achievement integer not null,
  at timestamptz not null,
  primary key (tenant, user_id, achievement)
);

-- The sums of the events that match metric achievements with filters.
create table user_achievement_sums (
  tenant integer not null,
  user_id text not null,
  achievement integer not null,
  total double precision not null,
  rev bigint not null,
  primary key (tenant, user_id, achievement)
) with (fillfactor = 60);

-- All three streaks of a user, as lua/modules/streaks.lua keeps them; null while the user has none.
create table user_streaks (
  tenant integer not null,
  user_id text not null,
  state jsonb,
  pauses jsonb not null default '[]',
  -- Where in the ledger the length of each frequency was reached.
  reached_daily text not null default '',
  reached_weekly text not null default '',
  reached_monthly text not null default '',
  rev bigint not null,
  primary key (tenant, user_id)
) with (fillfactor = 60);

-- Up to which UTC hour and local day time triggers have fired.
create table user_times (
  tenant integer not null,
  user_id text not null,
  hour integer not null,
  day integer not null,
  rev bigint not null,
  primary key (tenant, user_id)
) with (fillfactor = 60);

-- The history of streaks: `period` counts days, weeks or months since 1970 (docs/rules.md, "Time"). A period without a row had no streak.
create table streak_periods (
  tenant integer not null,
  user_id text not null,
  frequency text not null check (frequency in ('daily', 'weekly', 'monthly')),
  period integer not null,
  length integer not null,
  how text not null check (how in ('extended', 'freeze', 'pause', 'move', 'lost')),
  primary key (tenant, user_id, frequency, period)
);

-- A board that is broken down has a group for each combination of attribute values: each value's length in bytes, a colon and the value.
-- `present` tells whether the user is on the board: a full one has users outside, whose values count for the final rankings.
alter table leaderboard_entries add column "group" text not null default '';
alter table leaderboard_entries add column present boolean not null default true;
alter table leaderboard_entries drop constraint leaderboard_entries_pkey;
alter table leaderboard_entries add primary key (tenant, leaderboard, run, user_id, "group");

-- Runs that are over. `run` as in leaderboard_entries.
create table leaderboard_runs (
  tenant integer not null,
  leaderboard integer not null,
  run integer not null,
  finalised timestamptz not null,
  primary key (tenant, leaderboard, run)
);

create table leaderboard_rankings (
  tenant integer not null,
  leaderboard integer not null,
  run integer not null,
  "group" text not null,
  rank integer not null,
  user_id text not null,
  value double precision not null,
  primary key (tenant, leaderboard, run, "group", rank)
);
create index leaderboard_rankings_by_user on leaderboard_rankings (tenant, user_id);

-- What has become active, and whether the users who already qualified have been entered. `definition` stands for what decides who
-- qualifies (object 0 is what time does to users); when it changes, everybody is looked at again. `cursor` is the last user who has been.
create table activations (
  tenant integer not null,
  object integer not null,
  kind text not null check (kind in ('achievement', 'leaderboard', 'time')),
  definition text not null,
  -- What a streak board ranks.
  frequency text not null default '',
  cursor text not null default '',
  completed timestamptz,
  primary key (tenant, object)
);
drop table leaderboard_backfills;
