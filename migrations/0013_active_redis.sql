-- Which Redis holds the data of this database (docs/operations/restore.md). At most one row.
create table active_redis (
  is_only boolean primary key default true check (is_only),
  -- REDIS_URL without its login, and REDIS_PREFIX.
  address text not null,
  prefix text not null,
  -- The run_id of each master and the number of the database: the same Redis under another address has one in common.
  servers text[] not null,
  since timestamptz not null
);

-- The processes that work with this database. Each confirms once a second that its Redis holds a current epoch.
create table redis_confirmations (
  process uuid primary key,
  address text not null,
  prefix text not null,
  servers text[] not null,
  host text not null,
  pid integer not null,
  -- api, worker, api and worker, or command.
  role text not null,
  -- Null for a process whose Redis does not hold the epoch.
  confirmed_at timestamptz,
  -- Stopped in order.
  is_stopped boolean not null default false,
  -- Since when, and until when, the process asks to become active.
  asked_since timestamptz,
  asked_at timestamptz
) with (fillfactor = 50);

-- The last entry of the ledger that was committed in an epoch that has ended; null for epochs that ended before this migration.
alter table past_epochs add column last_ms bigint, add column last_seq bigint;
create index past_epochs_ended on past_epochs (ended);

-- Entries of an ended epoch that a restore removed from Redis before they were committed: the epoch. Null for refused entries.
alter table dead_letters add column epoch uuid;
create unique index dead_letters_of_epoch on dead_letters (tenant, epoch, stream_id) where epoch is not null;
