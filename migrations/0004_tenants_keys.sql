-- Tenants that come and go, and keys that are made, used and revoked.

-- Counts the changes of tenants and keys that a process may have in its memory (tenants, admin keys, revocations of application keys). The
-- row is locked until a change commits, so a revision that can be read has all changes before it.
create table account (
  one boolean primary key default true check (one),
  revision bigint not null default 0
);
insert into account default values;

-- The revision of the last change; 0 for rows of before.
alter table tenants add column revision bigint not null default 0;
create index tenants_by_revision on tenants (revision);

-- The customer of an archived tenant may get a new one.
alter table tenants drop constraint tenants_customer_id_key;
create unique index tenants_by_customer on tenants (customer_id) where status = 'active';

alter table api_keys add column name text not null default '';
-- Written down now and then; null while it has never been used.
alter table api_keys add column last_used timestamptz;
-- A deleted key stays as a row, so that a key that comes from the environment does not come back to life with the next start.
alter table api_keys add column deleted timestamptz;
alter table api_keys add column revision bigint not null default 0;
create index api_keys_by_revision on api_keys (revision) where revision > 0;
create index api_keys_by_user on api_keys (tenant, user_id);
