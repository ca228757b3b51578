-- What is looked up among the places of a run, or the pauses of a tenant, without looking at all of them: with many millions of users these took
-- longer than a statement may. Only the places on boards are in the first, at most 1,000 of each group, and not those remembered outside of them.

create index leaderboard_entries_present on leaderboard_entries (tenant, leaderboard, run, "group") where present;

create index user_streaks_by_pause on user_streaks using gin (pauses jsonb_path_ops) where pauses <> '[]';
