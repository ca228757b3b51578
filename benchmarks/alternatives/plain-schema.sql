-- What a back end keeps in Postgres that does what benchmarks/load/wide.yaml says without Laurel.

-- The unique index also finds repeated idempotency keys.
create table events (
  id bigint generated always as identity primary key,
  user_id text not null,
  metric text not null,
  idempotency_key text,
  value double precision not null,
  at timestamptz not null,
  unique (user_id, metric, idempotency_key)
);

-- One row has all that an event needs. No index but the key, and room in the pages, so that its updates are HOT.
create table users (
  id text primary key,
  revision integer not null,
  name text,
  tz text,
  plan text,
  city text,
  total double precision not null,
  points integer not null,
  level text,
  streak integer not null,
  streak_day integer not null,
  day integer not null,
  day_total double precision not null,
  freezes integer not null,
  earned integer not null,
  created_day integer not null,
  completed text[] not null
) with (fillfactor = 60);

create table awards (
  id bigint generated always as identity primary key,
  event_id bigint not null,
  user_id text not null,
  trigger text not null,
  points integer not null,
  total integer not null,
  at timestamptz not null
);
create index awards_of_user on awards (user_id, at);

create table completed_achievements (
  user_id text not null,
  key text not null,
  at timestamptz not null,
  primary key (user_id, key)
);

-- A place on a leaderboard is found by counting those before it.
create table week_points (
  week integer not null,
  user_id text not null,
  points integer not null,
  reached timestamptz not null,
  primary key (week, user_id)
);
create index week_ranks on week_points (week, points desc, reached);

create table city_totals (
  user_id text primary key,
  city text not null,
  total double precision not null,
  reached timestamptz not null
);
create index city_ranks on city_totals (city, total desc, reached);
