-- What Redis holds of a user, field by field as its hash has it: a restore writes it back, and `laurel verify` compares the two. `value` is
-- replaced only by one of a higher revision of the same user. Not sampled by ANALYZE, whose samples would outlive the deletion of a user.
create table user_state (
  tenant integer not null,
  user_id text not null,
  field text not null,
  value bytea not null,
  rev bigint not null,
  primary key (tenant, user_id, field)
) with (fillfactor = 60);
alter table user_state alter column value set statistics 0;

-- What only a restore read. The lengths of streaks stay, for rankings; a row is written when one of them changes.
drop table user_triggers, user_achievement_sums, user_times;
alter table user_streaks
  alter column daily drop expression, alter column daily set default 0,
  alter column weekly drop expression, alter column weekly set default 0,
  alter column monthly drop expression, alter column monthly set default 0;
alter table user_streaks drop column state;

-- The fields of the stream entry behind the first and their values, each behind its length in bytes (src/ledger/entry.ts).
alter table dead_letters drop column raw_streaks;
alter table dead_letters add column raw_state bytea not null default '';
alter table dead_letters alter column raw_state set statistics 0;
