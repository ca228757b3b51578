-- What receivers of webhooks have been told last, for the messages that are sent at most every 15 minutes or when their time has come. There are
-- rows only for kinds that an endpoint subscribes to. Moments are milliseconds since 1970 of the engine's clock, which tests move.

-- The points of a user in a system, for points.changed. `at` is when the row is looked at next: when its change is told, or, while nothing has
-- changed, when the next change may be told at once again, so that the row can go. `total` and `rev` (the user's revision) are what was told last;
-- no award since then is dated more than two days before `since`.
create table webhook_points_state (
  tenant integer not null,
  user_id text not null,
  system integer not null,
  at bigint not null,
  changed boolean not null default true,
  total bigint not null,
  rev bigint not null,
  since bigint not null,
  primary key (tenant, user_id, system)
) with (fillfactor = 60);
create index webhook_points_state_due on webhook_points_state (tenant, at);

-- The rankings of a run and group of a leaderboard, for leaderboard.changed; and those that are final and not told yet, for leaderboard.finished.
-- For the latter "group" is the last group that has been told; `changed` is true.
create table webhook_leaderboard_state (
  tenant integer not null,
  kind text not null,
  leaderboard integer not null,
  run integer not null,
  "group" text not null,
  at bigint not null,
  changed boolean not null default true,
  primary key (tenant, kind, leaderboard, run, "group")
) with (fillfactor = 60);
create index webhook_leaderboard_state_due on webhook_leaderboard_state (tenant, at);

-- Whose places are compared with what their users were told last, for leaderboard.rank_changed. `at` is when that is done next, null while nothing
-- has changed; `compared_at` when it was done last. `silent`: the board is being filled, and places are only noted.
create table webhook_ranking_state (
  tenant integer not null,
  leaderboard integer not null,
  run integer not null,
  "group" text not null,
  at bigint,
  compared_at bigint,
  silent boolean not null default false,
  primary key (tenant, leaderboard, run, "group")
) with (fillfactor = 60);
create index webhook_ranking_state_due on webhook_ranking_state (tenant, at) where at is not null;

-- The place that each user was told last; `rank` and `value` are null for somebody who was told to have left, `at` for who was never told.
create table webhook_user_rank_state (
  tenant integer not null,
  leaderboard integer not null,
  run integer not null,
  "group" text not null,
  user_id text not null,
  rank integer,
  value double precision,
  at bigint,
  primary key (tenant, leaderboard, run, "group", user_id)
) with (fillfactor = 60);
create index webhook_user_rank_state_by_user on webhook_user_rank_state (tenant, user_id);

-- Up to which day (since 1970-01-01) the beginnings and ends of an object have been told. Object 0 stands for the moment from which on a kind is
-- told at all: what had happened by then is not.
create table webhook_calendar_state (
  tenant integer not null,
  kind text not null,
  object integer not null,
  day integer not null,
  primary key (tenant, kind, object)
);
