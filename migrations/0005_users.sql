-- Deleting a user finds the user's rows, and the list of users finds users.

create index leaderboard_entries_by_user on leaderboard_entries (tenant, user_id);
create index if not exists leaderboard_history_by_user on leaderboard_history (tenant, user_id);

-- The list goes by id, byte by byte, whatever the collation of the database; a search finds the start of an id, of an address, and of the
-- words of a name.
create index users_by_id on users (tenant, id collate "C");
create index users_by_email on users (tenant, lower(email) text_pattern_ops);
create index users_by_name on users using gin (to_tsvector('simple', coalesce(name, '')));

-- Once a pass is complete its cursor, in which there is the id of a user, is of no use.
update activations set cursor = '' where completed is not null;

comment on column leaderboard_rankings.rank is
  'The rank when the run ended. Users who are deleted leave gaps: the rank that is shown is counted from the rows of the run and group.';
