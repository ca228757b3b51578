-- What subscribers are told: messages, committed with the entries of the ledger that they come from, and their deliveries.

-- One row for each message that somebody subscribes to. `subject` is what order is kept for: `user:<id>`, `leaderboard:<no>`. `user_id` is
-- the user whom it is about, who takes it along when deleted; `others` are users whom the payload names besides. `at` is when it happened.
create table outbox (
  id bigint generated always as identity primary key,
  tenant integer not null,
  kind text not null,
  subject text not null,
  user_id text,
  others text[],
  at timestamptz not null,
  -- json and not jsonb: a body is sent, and signed, as it was written.
  payload json not null,
  created timestamptz not null default now()
);
create index outbox_by_user on outbox (tenant, user_id) where user_id is not null;
create index outbox_by_others on outbox using gin (others) where others is not null;

-- One row for each message and endpoint (`endpoint` is the `no` of a webhook of the configuration). `id` is what receivers know it by.
-- A pending one is looked at when `next_attempt_at` has come: that is in the past for a new one, the next try for one that failed, the end of
-- the claim for one that a worker (`claim`) is trying, and a time at which that may be over for one that waits behind another of its
-- subject. `attempts` counts the tries since it became pending; `tries` tells of the newest ones.
create table webhook_deliveries (
  outbox bigint not null,
  endpoint integer not null,
  id uuid not null default gen_random_uuid(),
  tenant integer not null,
  kind text not null,
  subject text not null,
  user_id text,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claim uuid,
  tries jsonb not null default '[]',
  created timestamptz not null default now(),
  finished timestamptz,
  primary key (outbox, endpoint)
) with (fillfactor = 70);
create unique index webhook_deliveries_by_id on webhook_deliveries (id);
create index webhook_deliveries_of_endpoint on webhook_deliveries (tenant, endpoint, outbox);
create index webhook_deliveries_failed on webhook_deliveries (tenant, endpoint, outbox) where status = 'failed';
create index webhook_deliveries_due on webhook_deliveries (tenant, endpoint, next_attempt_at, outbox) where status = 'pending';
create index webhook_deliveries_in_order on webhook_deliveries (tenant, endpoint, subject, outbox) where status = 'pending';
create index webhook_deliveries_by_user on webhook_deliveries (tenant, user_id) where user_id is not null;

-- What Laurel keeps of an endpoint besides its configuration. The row is also the lock of its queue.
create table webhook_endpoints (
  tenant integer not null,
  no integer not null,
  secret text not null,
  -- The secret before, with which messages are signed too until that moment.
  previous_secret text,
  previous_until timestamptz,
  -- Since when no try has succeeded; null after a success.
  failing_since timestamptz,
  -- When Laurel switched it off, because it had failed for too long.
  switched_off timestamptz,
  created timestamptz not null default now(),
  primary key (tenant, no)
) with (fillfactor = 60);

-- Queues change all the time, and what is done leaves at once or after days: few dead rows are enough to look.
alter table webhook_deliveries set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
