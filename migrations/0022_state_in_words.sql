-- The packed state of users (table user_state) in words, for analysts and operators (docs/operations/state.md). Laurel itself does not use these
-- functions. They store nothing: a table or an index would be one more place with personal data that ANALYZE samples.

-- MessagePack as jsonb: everything that Lua's cmsgpack and msgpackr write, but extensions. Binary data becomes a text of hexadecimal digits
-- behind `\x`; NaN and the infinities become texts, since jsonb lacks them. The function builds JSON text from left to right: appending to
-- jsonb would copy the whole value for each item.
create function unpack_message(message bytea) returns jsonb
  language plpgsql immutable strict parallel safe as $function$
declare
  -- Decompressed once, and not for each byte that is read.
  bytes constant bytea := message || ''::bytea;
  size constant integer := octet_length(bytes);
  at integer := 0;
  -- The first byte of an item, how many bytes behind it hold its number or its length, and these as a number.
  code integer;
  width integer;
  word bigint;
  -- How many items of a list or a map, or bytes of a text, the item has.
  length integer;
  item text;
  exponent integer;
  mantissa bigint;
  parts text[] := '{}';
  -- Of each list and map that is open: how many items are to come, and its last character.
  depth integer := 0;
  missing integer[] := '{}';
  ends text[] := '{}';
begin
  loop
    if at >= size then
      raise exception 'The MessagePack ends early: % bytes.', size using errcode = 'data_exception';
    end if;
    code := get_byte(bytes, at);
    at := at + 1;
    -- 192 nil, 194 false, 195 true, 196 binary, 202 float 32, 203 float 64, 204 uint, 208 int, 217 text, 220 list, 222 map; 128, 144, 160 short ones.
    width := case
      when code between 196 and 198 then 1 << (code - 196)
      when code = 202 then 4
      when code = 203 then 8
      when code between 204 and 207 then 1 << (code - 204)
      when code between 208 and 211 then 1 << (code - 208)
      when code between 217 and 219 then 1 << (code - 217)
      when code between 220 and 221 then 2 << (code - 220)
      when code between 222 and 223 then 2 << (code - 222)
      else 0
    end;
    word := case
      when width > 0 then ('x' || lpad(encode(substring(bytes from at + 1 for width), 'hex'), 16, '0'))::bit(64)::bigint
      when code between 128 and 159 then code & 15
      when code between 160 and 191 then code & 31
      else 0
    end;
    at := at + width;
    length := case when code between 128 and 191 or code between 196 and 198 or code between 217 and 223 then least(word, size) else 0 end;
    if at > size or (length > size - at) then
      raise exception 'The MessagePack ends early: % bytes.', size using errcode = 'data_exception';
    end if;

    item := case
      when code < 128 then code::text
      when code >= 224 then (code - 256)::text
      when code between 128 and 159 or code between 220 and 223 then null
      when code between 160 and 191 or code between 217 and 219 then
        to_json(convert_from(substring(bytes from at + 1 for length), 'UTF8'))::text
      when code between 196 and 198 then to_json('\x' || encode(substring(bytes from at + 1 for length), 'hex'))::text
      when code = 192 then 'null'
      when code = 194 then 'false'
      when code = 195 then 'true'
      when code between 204 and 206 or code = 211 then word::text
      when code = 207 then (case when word < 0 then word + 18446744073709551616 else word end)::text
      when code between 208 and 210 then (case when word >> (8 * width - 1) = 1 then word - (1::bigint << (8 * width)) else word end)::text
      when code between 202 and 203 then ''
    end;

    if code between 202 and 203 then
      -- IEEE 754: a sign, an exponent and a mantissa, which are put together without loss.
      exponent := case code when 202 then (word >> 23) & 255 else (word >> 52) & 2047 end;
      mantissa := case code when 202 then word & 8388607 else word & 4503599627370495 end;
      item := case
        when exponent = (case code when 202 then 255 else 2047 end) then to_json(case
          when mantissa <> 0 then 'NaN'
          when get_byte(bytes, at - width) < 128 then 'Infinity'
          else '-Infinity'
        end)::text
        else ((case when get_byte(bytes, at - width) < 128 then 1 else -1 end)
          * (mantissa + case when exponent = 0 then 0 when code = 202 then 8388608 else 4503599627370496 end)::double precision
          * power(2::double precision, greatest(exponent, 1) - case code when 202 then 150 else 1075 end))::text
      end;
    elsif item is null and not (code between 128 and 159 or code between 220 and 223) then
      raise exception 'A type of MessagePack that Laurel does not write: 0x%.', to_hex(code) using errcode = 'data_exception';
    end if;

    -- A key of a map is a text.
    if depth > 0 and ends[depth] = '}' and missing[depth] % 2 = 0 then
      if item is null then
        raise exception 'A map of the MessagePack has a list or a map as a key.' using errcode = 'data_exception';
      elsif left(item, 1) <> '"' then
        item := '"' || item || '"';
      end if;
    end if;

    if item is not null then
      parts := parts || item;
      at := at + length;
    else
      depth := depth + 1;
      if code between 144 and 159 or code between 220 and 221 then
        parts := parts || '['::text;
        ends[depth] := ']';
        missing[depth] := length;
      else
        parts := parts || '{'::text;
        ends[depth] := '}';
        missing[depth] := 2 * length;
      end if;
      continue when length > 0;
    end if;

    -- What ends with this item.
    loop
      if item is null then
        parts := parts || ends[depth];
        depth := depth - 1;
      end if;
      exit when depth = 0;
      missing[depth] := missing[depth] - 1;
      if missing[depth] > 0 then
        parts := parts || case when ends[depth] = '}' and missing[depth] % 2 = 1 then ':' else ',' end;
        exit;
      end if;
      item := null;
    end loop;
    exit when depth = 0;
  end loop;
  if at < size then
    raise exception 'The MessagePack goes on behind its end: % bytes, of which % were read.', size, at using errcode = 'data_exception';
  end if;
  return array_to_string(parts, '')::jsonb;
end
$function$;
comment on function unpack_message(bytea) is 'MessagePack, as user_state and Redis hold it, as jsonb.';

-- The layout of a user's state: the fields of the user's hash, the names of the profile, and the places of each list in their order. They are
-- defined in src/redis/contract.ts, src/redis/layout.ts and lua/modules/leaderboards.lua;
-- test/durability/state-in-words.test.ts fails where this function differs. A later migration replaces it.
create function state_layout() returns json
  language sql immutable parallel safe as $function$
  select '{
    "records": {
      "core": "c", "profile": "u", "name": "n", "attributes": "a", "achievements": "x", "metric": "m-", "points": "p-", "streakPlaces": "k",
      "due": "o"
    },
    "profile": {
      "created": "b", "createdDay": "j", "updated": "u", "name": "n", "email": "e", "tz": "z", "subscribeToEmails": "s", "deviceTokens": "d",
      "control": "c", "attribute": "a-", "streakPreferences": "w", "notification": "n-"
    },
    "core": [
      "rev", "created", "createdDay", "newestDay", "tz", "settledHour", "settledDay", "pauses", "streakPreferences",
      "streakDay", "freezes", "earnedUpTo", "home",
      "daily.length", "daily.started", "daily.last", "daily.extendedAt", "daily.grace", "daily.counted", "daily.counts", "daily.lostLength",
      "daily.lostStarted",
      "weekly.length", "weekly.started", "weekly.last", "weekly.extendedAt", "weekly.grace", "weekly.counted", "weekly.counts",
      "weekly.lostLength", "weekly.lostStarted",
      "monthly.length", "monthly.started", "monthly.last", "monthly.extendedAt", "monthly.grace", "monthly.counted", "monthly.counts",
      "monthly.lostLength", "monthly.lostStarted"
    ],
    "metric": ["total", "progress", "highs", "sums", "places"],
    "points": ["total", "level", "places"],
    "streakPlaces": ["places"],
    "place": ["run", "value", "seq", "group"]
  }'::json
$function$;

-- The objects of each tenant's newest configuration: what the numbers in Laurel's tables stand for.
create view configured_objects as
  select tenants.no as tenant, (object ->> 'no')::integer as no, kind, points_system, object ->> 'key' as key, object ->> 'name' as name,
         (object ->> 'archived')::boolean as archived
    from tenants
   cross join lateral (select document from config_versions where tenant = tenants.no order by version desc limit 1) as newest
   cross join lateral (
     select 'metric' as kind, null as points_system, object from jsonb_array_elements(document -> 'metrics') as object
     union all select 'attribute', null, object from jsonb_array_elements(document -> 'attributes') as object
     union all select 'achievement', null, object from jsonb_array_elements(document -> 'achievements') as object
     union all select 'leaderboard', null, object from jsonb_array_elements(document -> 'leaderboards') as object
     union all select 'webhook', null, object from jsonb_array_elements(document -> 'webhooks') as object
     union all select 'points system', null, object from jsonb_array_elements(document -> 'pointsSystems') as object
     union all
     select part.kind, system ->> 'key', object
       from jsonb_array_elements(document -> 'pointsSystems') as system
      cross join (values ('level', 'levels'), ('trigger', 'triggers'), ('boost', 'boosts')) as part (kind, list)
      cross join jsonb_array_elements(system -> part.list) as object) as objects;
comment on view configured_objects is
  'The objects of the newest configuration, archived ones included: the numbers of metrics, points systems and so on, and their keys.';

-- What the functions below look up: keys and names by number, and the shift of weeks (src/shared/calendar.ts). A trigger's key follows that of its
-- points system, since two systems may each have a trigger of the same key.
create function state_names(tenant integer) returns jsonb
  language sql stable parallel safe as $function$
  select jsonb_build_object(
    'keys', coalesce(jsonb_object_agg(no, case kind when 'trigger' then points_system || '/' || key else key end), '{}'),
    'names', coalesce(jsonb_object_agg(no, name), '{}'),
    'weekShift', (select case document -> 'settings' ->> 'weekStart' when 'sunday' then 4 else 3 end
                    from config_versions as version where version.tenant = state_names.tenant order by version.version desc limit 1))
    from configured_objects as object where object.tenant = state_names.tenant
$function$;

-- Replaces the numbers in a map by keys; one that is not in the configuration stays. (Lua packs an empty map as a list.)
create function state_keyed(map jsonb, names jsonb) returns jsonb
  language sql immutable strict parallel safe as $function$
  select coalesce(jsonb_object_agg(coalesce(names -> 'keys' ->> key, key), value), '{}')
    from jsonb_each(case jsonb_typeof(map) when 'object' then map else '{}' end)
$function$;

-- A moment in milliseconds since 1970, and a day since 1970-01-01.
create function state_moment(milliseconds jsonb) returns jsonb
  language sql stable strict parallel safe as $function$
  select to_jsonb(timestamptz '1970-01-01 00:00:00+00' + (milliseconds #>> '{}')::double precision * interval '1 millisecond')
$function$;
create function state_day(day jsonb) returns jsonb
  language sql immutable strict parallel safe as $function$
  select to_jsonb(date '1970-01-01' + (day #>> '{}')::integer)
$function$;

-- The places of a list that have a value, in their order.
create function state_places(layout text, list jsonb) returns table (place text, value jsonb)
  language sql immutable strict parallel safe as $function$
  select places.place, list -> (places.at::integer - 1)
    from json_array_elements_text(state_layout() -> layout) with ordinality as places (place, at)
   where list -> (places.at::integer - 1) not in ('null', 'false')
   order by places.at
$function$;

-- One of the three streaks of a user's core; null for none. Numbers of periods become their first days; what has no value, -1 or 0, is left out.
create function state_streak(frequency text, core jsonb, names jsonb) returns jsonb
  language sql stable strict parallel safe as $function$
  select jsonb_object_agg(place, case
      when place in ('extendedAt', 'grace') then state_moment(value)
      when place = 'counts' then state_keyed(value, names)
      when place not in ('started', 'last', 'counted', 'lostStarted') then value
      when frequency = 'daily' then state_day(value)
      when frequency = 'weekly' then state_day(to_jsonb((value #>> '{}')::integer * 7 - (names ->> 'weekShift')::integer))
      else to_jsonb((date '1970-01-01' + (value #>> '{}')::integer * interval '1 month')::date)
    end)
    from (
      select split_part(stored.place, '.', 2) as place, stored.value
        from state_places('core', core) as stored where starts_with(stored.place, frequency || '.')) as streak
   where not (place in ('started', 'last', 'counted', 'lostStarted') and value = '-1') and not (place in ('extendedAt', 'grace') and value = '0')
$function$;

-- The user's places on leaderboards: the number in the sequence of ties at which a total was reached, or the newest runs.
create function state_boards(places jsonb, names jsonb) returns jsonb
  language sql immutable strict parallel safe as $function$
  select state_keyed(coalesce(jsonb_object_agg(board, case jsonb_typeof(noted)
      when 'number' then jsonb_build_object('seq', noted)
      else (
        select coalesce(jsonb_agg((
            select jsonb_object_agg(place, case place when 'run' then state_day(value) else value end)
              from state_places('place', slot) where not (place = 'run' and value = '0')) order by at), '[]')
          from jsonb_array_elements(noted) with ordinality as slots (slot, at))
    end), '{}'), names)
    from jsonb_each(case jsonb_typeof(places) when 'object' then places else '{}' end) as boards (board, noted)
$function$;

-- The user's own streak conditions, which are stored as JSON.
create function state_preferences(preferences jsonb, names jsonb) returns jsonb
  language sql immutable strict parallel safe as $function$
  select case preferences when '""' then preferences else own || jsonb_build_object('metrics', (
      select coalesce(jsonb_agg(condition || jsonb_build_object('key', coalesce(names -> 'keys' -> no, to_jsonb(no))) order by at), '[]')
        from jsonb_array_elements(own -> 'metrics') with ordinality as conditions (condition, at)
       cross join lateral (select condition ->> 'key') as metrics (no))) end
    from (select case preferences when '""' then null else (preferences #>> '{}')::jsonb end) as parsed (own)
$function$;

-- The value at a place of a list.
create function state_value(place text, value jsonb, names jsonb) returns jsonb
  language sql stable strict parallel safe as $function$
  select case
    when place = 'created' then state_moment(value)
    when place = 'settledHour' then state_moment(to_jsonb((value #>> '{}')::bigint * 3600000))
    when place in ('createdDay', 'newestDay', 'settledDay', 'streakDay', 'earnedUpTo') then state_day(value)
    when place in ('progress', 'highs', 'sums') then state_keyed(value, names)
    when place = 'places' then state_boards(value, names)
    when place = 'level' then coalesce(names -> 'keys' -> (value #>> '{}'), value)
    when place = 'streakPreferences' then state_preferences(value, names)
    else value
  end
$function$;

-- A property of the profile, which is stored as text.
create function state_property(property text, value text) returns jsonb
  language sql stable strict parallel safe as $function$
  select case
    when property = 'updated' then state_moment(value::jsonb)
    when property in ('subscribeToEmails', 'control') then to_jsonb(value = '1')
    when property in ('deviceTokens', 'notification') then case value when '' then '[]' else value::jsonb end
    else to_jsonb(value)
  end
$function$;

-- The record that a field of a user's hash holds, the number after its dash, and the record's position; nulls for an unknown field.
create function state_record(field text, out record text, out no text, out at bigint)
  language sql immutable strict parallel safe as $function$
  select records.record, nullif(substr(field, length(records.start) + 1), ''), records.at
    from json_each_text(state_layout() -> 'records') with ordinality as records (record, start, at)
   where field = records.start or (records.start like '%-' and starts_with(field, records.start))
$function$;

-- A record of a user's hash in words, from its unpacked value. An unknown one is shown as it is.
create function state_words(kind text, no text, unpacked jsonb, names jsonb)
  returns table (record text, key text, name text, place text, value jsonb)
  language plpgsql stable parallel safe rows 10 as $function$
#variable_conflict use_column
begin
  if kind in ('core', 'metric', 'points', 'streakPlaces') then
    return query
      select kind, coalesce(names -> 'keys' ->> no, no), names -> 'names' ->> no, stored.place, state_value(stored.place, stored.value, names)
        from state_places(kind, unpacked) as stored
       where stored.place not in ('pauses', 'streakDay', 'freezes', 'earnedUpTo', 'home') and stored.place not like '%.%';
  end if;
  if kind = 'core' then
    return query
      select 'streaks', null::text, null::text, stored.place, state_value(stored.place, stored.value, names)
        from state_places(kind, unpacked) as stored
       where stored.place in ('streakDay', 'freezes', 'earnedUpTo', 'home');
    return query
      select 'streaks', null::text, null::text, streak.frequency, streak.value
        from (values (1, 'daily'), (2, 'weekly'), (3, 'monthly')) as streaks (at, frequency)
       cross join lateral (select streaks.at, streaks.frequency, state_streak(streaks.frequency, unpacked, names) as value) as streak
       where streak.value is not null
       order by streak.at;
    return query
      select core.place, pause ->> 'id', null::text, day.place, state_day(pause -> day.place)
        from state_places(kind, unpacked) as core
       cross join jsonb_array_elements(core.value) with ordinality as pauses (pause, at)
       cross join (values (1, 'first'), (2, 'last')) as day (at, place)
       where core.place = 'pauses'
       order by pauses.at, day.at;
  elsif kind = 'profile' then
    return query
      select kind, nullif(substr(stored.key, length(property.start) + 1), ''), null::text, coalesce(property.name, stored.key),
             state_property(coalesce(property.name, stored.key), stored.value)
        from jsonb_each_text(unpacked) as stored
        left join json_each_text(state_layout() -> 'profile') as property (name, start)
          on stored.key = property.start or (property.start like '%-' and starts_with(stored.key, property.start))
       order by 4, 2;
  elsif kind = 'name' then
    return query select 'profile', null::text, null::text, kind, unpacked;
  elsif kind in ('attributes', 'achievements') then
    return query
      select kind, coalesce(names -> 'keys' ->> stored.key, stored.key), names -> 'names' ->> stored.key,
             case kind when 'achievements' then 'completed' else 'value' end,
             case kind when 'achievements' then state_moment(stored.value) else stored.value end
        from jsonb_each(case jsonb_typeof(unpacked) when 'object' then unpacked else '{}' end) as stored
       order by 2;
  elsif kind is null then
    return query select null::text, null::text, null::text, null::text, unpacked;
  end if;
end
$function$;

create function user_record_in_words(tenant integer, field text, unpacked jsonb)
  returns table (record text, key text, name text, place text, value jsonb)
  language sql stable strict parallel safe rows 10 set search_path from current set timezone to 'UTC' as $function$
  select words.record, words.key, words.name, words.place, words.value
    from state_record(field) as found
   cross join state_words(found.record, found.no, unpacked, state_names(tenant)) as words
$function$;
comment on function user_record_in_words(integer, text, jsonb) is
  'One field of a user''s hash in words, from its unpacked value, which `laurel verify` prints. The tenant is its number, tenants.no.';

create function user_state_in_words(tenant integer, user_id text)
  returns table (field text, record text, key text, name text, place text, value jsonb)
  language sql stable strict parallel safe rows 100 set search_path from current set timezone to 'UTC' as $function$
  with configured as materialized (select state_names($1) as names)
  select state.field, words.record, words.key, words.name, words.place, words.value
    from configured
   cross join user_state as state
   cross join state_record(state.field) as found
   -- A name is no MessagePack.
   cross join lateral (
     select case found.record when 'name' then to_jsonb(convert_from(state.value, 'UTF8')) else unpack_message(state.value) end) as packed (content)
   cross join state_words(found.record, found.no, packed.content, configured.names) with ordinality as words (record, key, name, place, value, at)
   where state.tenant = $1 and state.user_id = $2
   order by found.at, length(state.field), state.field, words.at
$function$;
comment on function user_state_in_words(integer, text) is
  'The state of a user in words: the fields of user_state, unpacked and named. The tenant is its number, tenants.no.';
