-- When e-mails are due by the local time of users, a zone at a time.

-- Up to which moment of the engine's clock (milliseconds since 1970) a kind is told in a zone; the empty zone is that of users who have none.
-- Zone `*` stands for the moment from which on a kind is told at all. `cursor` is the last user of a round that is under way.
create table webhook_email_state (
  tenant integer not null,
  kind text not null,
  zone text not null,
  at bigint not null,
  cursor text not null default '',
  done boolean not null,
  primary key (tenant, kind, zone)
);

-- Users by zone: which zones there are, and who is in one.
create index users_by_zone on users (tenant, coalesce(tz, ''), id collate "C");
