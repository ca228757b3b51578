-- Achievements that were completed outside of the hours of emails.achievement_due, until their users' next round (src/webhooks/emails.ts).
-- `at` is when one was completed, in milliseconds since 1970 of the engine's clock.
create table pending_achievement_emails (
  id bigint generated always as identity primary key,
  tenant integer not null,
  user_id text not null,
  at bigint not null,
  achievement json not null
);
create index pending_achievement_emails_by_user on pending_achievement_emails (tenant, user_id);

-- Columns that hold names, addresses, attributes, or texts that may repeat them, are not sampled by ANALYZE: its samples (pg_stats) would outlive
-- the deletion of a user. Restating the type removes the samples that there are; it does not rewrite the table.
alter table users
  alter column name type text, alter column name set statistics 0,
  alter column email type text, alter column email set statistics 0,
  alter column device_tokens type jsonb, alter column device_tokens set statistics 0,
  alter column attributes type jsonb, alter column attributes set statistics 0,
  alter column preferences type jsonb, alter column preferences set statistics 0;
alter index users_by_email alter column 2 set statistics 0;
alter index users_by_name alter column 1 set statistics 0;
alter table events alter column attributes type jsonb, alter column attributes set statistics 0;
alter table user_attribute_days alter column value set statistics 0;
alter table dead_letters
  alter column raw type bytea, alter column raw set statistics 0,
  alter column raw_streaks type bytea, alter column raw_streaks set statistics 0,
  alter column reason type text, alter column reason set statistics 0;
alter table webhook_deliveries alter column tries type jsonb, alter column tries set statistics 0;
