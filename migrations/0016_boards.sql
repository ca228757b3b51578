-- A leaderboard ranks every user who has a value, and its participant limit is applied where it is read: nobody is remembered "outside" of it.

-- Also finds the users of a run and group. `value` and `seq` are not in it, so that a new value can stay on the page of the old one.
create index leaderboard_entries_by_group on leaderboard_entries (tenant, leaderboard, run, "group");
drop index leaderboard_entries_present;
alter table leaderboard_entries drop column present;

-- Entries of the ledger name no other users any more.
alter table dead_letters drop column others;

-- What decides who qualifies for a leaderboard of streaks is the frequency that it ranks.
update activations set definition = frequency where kind = 'leaderboard';
alter table activations drop column frequency;

-- How many users a pass has entered, and the numbers of the sequence of ties that are for them: `reserved` numbers after `since`.
alter table activations add column entered integer not null default 0;
alter table activations add column since bigint not null default 0;
alter table activations add column reserved integer not null default 0;
