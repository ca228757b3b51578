-- Entries of the ledger that Postgres refused for what they hold. The ledger goes on behind them (docs/operations/dead-letters.md).

create table dead_letters (
  id uuid primary key default gen_random_uuid(),
  tenant integer not null references tenants (no),
  -- The entry's id in the stream, `milliseconds-number`.
  stream_id text not null,
  -- Null when the entry can't be read.
  kind text,
  -- Whom the entry is about; null when it is about nobody in particular, or can't be read.
  user_id text,
  -- Everybody else whom it names.
  others text[] not null,
  -- The fields of the stream entry, as MessagePack: the entry, and the user's streaks.
  raw bytea not null,
  raw_streaks bytea,
  -- The entry as it can be read. (Not jsonb, which refuses a NUL: what refuses an entry must not refuse its dead letter.)
  entry json,
  -- Null when it was refused before it reached Postgres.
  sqlstate text,
  reason text not null,
  at timestamptz not null default now()
);

create index dead_letters_tenant on dead_letters (tenant, at, id);
create index dead_letters_user on dead_letters (tenant, user_id);
