-- Rankings of all users by their streaks: how long each frequency's is, and how long it has ever been.

alter table user_streaks
  add column daily integer not null generated always as (coalesce(((state -> 3) ->> 0)::integer, 0)) stored,
  add column weekly integer not null generated always as (coalesce(((state -> 4) ->> 0)::integer, 0)) stored,
  add column monthly integer not null generated always as (coalesce(((state -> 5) ->> 0)::integer, 0)) stored,
  add column longest_daily integer not null default 0,
  add column longest_weekly integer not null default 0,
  add column longest_monthly integer not null default 0;

update user_streaks as streak
   set longest_daily = greatest(streak.daily, past.daily), longest_weekly = greatest(streak.weekly, past.weekly), longest_monthly = greatest(streak.monthly, past.monthly)
  from (
    select tenant, user_id, max(length) filter (where frequency = 'daily') as daily, max(length) filter (where frequency = 'weekly') as weekly,
           max(length) filter (where frequency = 'monthly') as monthly
      from streak_periods group by tenant, user_id
  ) as past
 where past.tenant = streak.tenant and past.user_id = streak.user_id;

create index user_streaks_daily on user_streaks (tenant, daily desc, reached_daily) where daily > 0;
create index user_streaks_weekly on user_streaks (tenant, weekly desc, reached_weekly) where weekly > 0;
create index user_streaks_monthly on user_streaks (tenant, monthly desc, reached_monthly) where monthly > 0;
create index user_streaks_longest_daily on user_streaks (tenant, longest_daily desc, user_id) where longest_daily > 0;
create index user_streaks_longest_weekly on user_streaks (tenant, longest_weekly desc, user_id) where longest_weekly > 0;
create index user_streaks_longest_monthly on user_streaks (tenant, longest_monthly desc, user_id) where longest_monthly > 0;
