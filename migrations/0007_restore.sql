-- What a restore of Redis needs besides the state that is kept already.

-- The order of the newest awards: of a user's revisions, and within one.
alter table awards add column rev bigint not null default 0;
alter table awards add column ordinal integer not null default 0;

-- The newest moment that the ledger, or the test clock, has told of: where the test clock goes on.
alter table stream_offsets add column newest_at bigint not null default 0;

-- The lives of Redis that a restore has ended. A Redis of one of them is an old copy of this account's, and no stranger.
create table past_epochs (
  tenant integer not null references tenants (no),
  epoch uuid not null,
  ended timestamptz not null default now(),
  primary key (tenant, epoch)
);

-- A user's places, when users are restored.
create index if not exists leaderboard_entries_by_user on leaderboard_entries (tenant, user_id);
