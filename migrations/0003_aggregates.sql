-- What the write-behind sums up as it goes, so that summaries and the year in review read rows of days and not events.
--
-- `object` is the `no` of a metric or of a points system: numbers are never given twice in a tenant. `day` is the user's local date at the
-- moment of the event or award. Changes are rounded to 15 significant digits after every addition, as totals are (a cast of float8 to
-- numeric does that). `sample` spreads users evenly over 1,024 numbers: a percentile among very many users is taken from a part of them.

create table user_days (
  tenant integer not null,
  user_id text not null,
  object integer not null,
  day date not null,
  -- At the end of the day: what was there before the user's first day, and the changes of all days up to this one.
  total double precision not null,
  change double precision not null,
  -- Events of a metric, awards of a points system.
  events integer not null,
  rev bigint not null,
  sample smallint not null generated always as ((hashtext(user_id) & 1023)::smallint) stored,
  primary key (tenant, user_id, object, day)
) with (fillfactor = 60);
create index user_days_by_day on user_days (tenant, object, day, sample);

create table user_years (
  tenant integer not null,
  user_id text not null,
  object integer not null,
  year integer not null,
  change double precision not null,
  rev bigint not null,
  sample smallint not null generated always as ((hashtext(user_id) & 1023)::smallint) stored,
  primary key (tenant, user_id, object, year)
) with (fillfactor = 60);
create index user_years_by_year on user_years (tenant, object, year, sample);

-- The same for the events of a metric with one value of an event attribute. A value can be longer than an index takes; its hash is not.
create table user_attribute_days (
  tenant integer not null,
  user_id text not null,
  metric integer not null,
  attribute integer not null,
  value text not null,
  value_hash uuid not null generated always as (md5(value)::uuid) stored,
  day date not null,
  change double precision not null,
  rev bigint not null,
  primary key (tenant, user_id, metric, attribute, value_hash, day)
) with (fillfactor = 60);

-- Reads of all users of a points system. Without the total, whose changes would then have to change the index as well.
create index user_points_by_system on user_points (tenant, system, user_id);
-- A user's places by day, on all boards.
create index leaderboard_history_by_user on leaderboard_history (tenant, user_id, day);

-- What has been counted until now. Events and awards carry the user's local date.
insert into user_days (tenant, user_id, object, day, total, change, events, rev)
  select tenant, user_id, object, day,
         (sum(change) over (partition by tenant, user_id, object order by day))::double precision, change::double precision, events, 0
    from (
      select tenant, user_id, metric as object, day, sum(value::numeric) as change, count(*) as events from events group by 1, 2, 3, 4
      union all
      select tenant, user_id, system, day, sum(awarded), count(*) from awards group by 1, 2, 3, 4
    ) as summed;

insert into user_years (tenant, user_id, object, year, change, rev)
  select tenant, user_id, object, extract(year from day)::integer, sum(change::numeric)::double precision, 0 from user_days group by 1, 2, 3, 4;

insert into user_attribute_days (tenant, user_id, metric, attribute, value, day, change, rev)
  select tenant, user_id, metric, key::integer, attribute.value, day, sum(events.value::numeric)::double precision, 0
    from events, jsonb_each_text(attributes) as attribute (key, value) group by 1, 2, 3, 4, 5, 6;
