/**
 * Deliberate faults in the function library, at least one for each of its modules. The model test has to notice every one of them: a fault
 * that it does not notice is a rule that could break without a red test.
 */
export interface Fault {
  /** What goes wrong, in a few words. */
  readonly name: string;
  /** A module of lua/modules. */
  readonly module: string;
  /** The text that is replaced: it has to occur exactly once in the module. Short ones live longer. */
  readonly text: string;
  readonly by: string;
}

const fault = (module: string, name: string, text: string, by: string): Fault => ({ module, name, text, by });

/** One for ties, freezes, boosts, runs, zones, changes of the configuration and composites: those that are tried in `npm run test:long`. */
export const namedFaults: readonly Fault[] = [
  fault('boards', 'ties: the last to reach a value is first', 'MAX_SHORT - seq', 'FIRST_LONG + seq'),
  fault(
    'streaks',
    'freeze order: a freeze is used before a pause',
    'if is_paused(tx',
    'if not (freezes and all[FREEZES] > 0) and is_paused(tx',
  ),
  fault('boosts', 'boost rounding: always down', 'active[1].rounding', "'down'"),
  fault(
    'leaderboards',
    'run boundary: by the date in UTC',
    'calendar.run(board, when.day) or 0',
    'calendar.run(board, math.floor(when.now / 86400000)) or 0',
  ),
  fault(
    'streaks',
    'time-zone change: the grace ends a period early',
    'first_day(tx, all, frequency, needed + 1)',
    'first_day(tx, all, frequency, needed)',
  ),
  fault('settle', 'time before a change follows the new configuration', 'segment.before, segment.at', 'segment.after, segment.at'),
  fault('achievements', 'composite depth: only one level', 'while i < #tx.achieved do', 'local depth = #tx.achieved\n  while i < depth do'),
];

const otherFaults: readonly Fault[] = [
  fault('achievements', 'a metric value must be exceeded', '>= achievement.value and can', '> achievement.value and can'),
  fault('achievements', 'locked ones can be completed', 'return achievement.active and not', 'return not'),
  fault('achievements', 'anniversaries do not come on their day', 'day > after and day <= tx.day and', 'day > after and day < tx.day and'),
  fault('partition_commands', 'calls of the active version are sent back', 'part.version = version', 'part.version = version + 1'),
  fault('boards', 'a full board has no threshold', 'return value or 0', 'return 0'),
  fault('boards', 'the last place is beyond the limit', 'value == last_value and member >= last', 'false'),
  fault('boards', 'a rank beyond the participant limit is told', 'rank < max and rank or nil', 'rank'),
  fault('boosts', 'boost rounding: as the smallest boost says', 'active[1].rounding', 'active[#active].rounding'),
  fault('boosts', 'the last day does not count', 'day > boost.last', 'day >= boost.last'),
  fault('boosts', 'personal boosts come first to last', 'a.order < b.order', 'a.order > b.order'),
  fault('calendar', 'months are not clamped', 'math.min(first + day - 1, following - 1)', 'first + day - 1'),
  fault('calendar', 'run boundary: a run begins a day late', 'return run <= day and run', 'return run < day and run'),
  fault('worker_commands', 'activation forgets streaks', 'qualifies(tx, achievement, length)', 'qualifies(tx, achievement, 0)'),
  fault('worker_commands', 'final rankings are one place long', 'max = max,', 'max = 1,'),
  fault('worker_commands', 'a user due at this very moment waits', '> (up_to or now)', '>= (up_to or now)'),
  fault('decimal', 'boost rounding: a half is rounded down', 'rest * 2 >= divisor', 'rest * 2 > divisor'),
  fault('decimal', 'totals are sums of doubles', 'a % 1 == 0 and b % 1 == 0', 'true'),
  fault(
    'filters',
    'a user without the attribute matches',
    'if attributes[filter.no] ~=',
    'if attributes[filter.no] and attributes[filter.no] ~=',
  ),
  fault(
    'filters',
    'only the last attribute of a filter counts',
    'local function match(list, attributes)\n  for i = 1,',
    'local function match(list, attributes)\n  for i = math.max(1, #list),',
  ),
  fault('deletion', 'a deleted user is still counted', "redis.call('HINCRBY', part.meta, contract.meta.users, -1)", ''),
  fault('leaderboards', 'the window includes its end', 'board.from and now < board.to', 'board.from and now <= board.to'),
  fault(
    'leaderboards',
    'a lost streak stays on a board of totals',
    '  if is_lost then\n    leave(tx, entry)',
    '  if is_lost then\n    type(entry)',
  ),
  fault('leaderboards', 'ties: the same value again queues anew', 'if before == value then', 'if false then'),
  fault('leaderboards', 'a backfill leaves no ranks', '  local rank = boards.participant_rank(entry, member)', '  local rank = nil'),
  fault(
    'leaderboards',
    'ranks within a backfill are noted',
    'change[fact.rank], change[fact.previousRank], change[fact.previousValue] = false, false, false',
    'type(change)',
  ),
  fault('leaderboards', 'a user who changes group stays in the old one too', 'leave(tx, left)', 'type(left)'),
  fault(
    'ledger',
    'settling leaves no entry',
    "redis.call('XADD', part.ledger, '*', 'e', blob, unpack(changed, 1, count))",
    "if entry.kind ~= 'settle' then redis.call('XADD', part.ledger, '*', 'e', blob, unpack(changed, 1, count)) end",
  ),
  fault('levels', 'new levels count nobody anew', 'points.count_level(tx, system, level)', 'level'),
  fault('metrics', 'a total below zero is forgotten', 'decimal.add(before, value)', 'decimal.add(math.max(before, 0), value)'),
  fault('partition', 'reads do not wait for Postgres', 'return info[i + 1]', "return '0-0'"),
  fault('cache', 'the oldest value is returned for every key', 'local value = young[key]', 'local _, value = next(young)'),
  fault('command', 'commands create the user they are about', 'needs.exists and not tx.exists', 'false'),
  fault(
    'plans',
    'a plan is used for ever',
    'plans.get(call.context.plan, call.part)',
    'call.plan or plans.get(call.context.plan, call.part)',
  ),
  fault('points', 'a multiple is paid twice', 'now > high_before and now or high_before', 'now'),
  fault('points', 'packing: the total stands in the place of the level', '[place.total] = state.total', '[place.level] = state.total'),
  fault('points', 'the cap is no cap', 'math.min(earned, cap - total)', 'earned'),
  fault('points', 'blocked one point early', '* trigger.points < 0 then', '* trigger.points <= 0 then'),
  fault('points', 'the event does not see what the creation of the user paid', '.total + times *', '.before + times *'),
  fault('points', 'adjustments go below zero', '.cap, amount)', '.cap, amount) and amount'),
  fault('used_keys', 'a key is forgotten at once', 'return stored:sub(1, ID_BYTES)', 'return nil'),
  fault('points', 'a level must be exceeded', 'if total < at.points', 'if total <= at.points'),
  fault('reads', 'a page from a user starts after the user', 'from + rank - 1', 'from + rank'),
  fault(
    'reads',
    'a user beyond the participant limit has a place',
    'rank = boards.participant_rank(entry, member)',
    "rank = redis.call('ZREVRANK', entry.key, member) + 1",
  ),
  fault('reads', 'a rank after the end is read in no run', 'math.min(day, board.last or day)', 'day'),
  fault('segments', 'the segment that a user lives in has no end', 'segment[NO] >= lives_in', 'segment[NO] > lives_in'),
  fault('settle', 'a lost streak stays on its board', 'if length ~= before then', 'if length > before then'),
  fault('settle', 'the later of two due moments is noted', 'math.min(streak, trigger)', 'math.max(streak, trigger)'),
  fault('settle', 'daily triggers fire at midnight in UTC', 'transaction.zone(tx), day), tx.now)', "'', day), tx.now)"),
  fault('streaks', 'freezes are earned after they are needed', '    if freezes then\n', '    if false then\n'),
  fault(
    'streaks',
    'new weeks cut the one that is running',
    "calendar.period('weekly', day, running) + 1, running)",
    "calendar.period('weekly', day, running), running)",
  ),
  fault('streaks', 'the time without streaks misses periods', 'all[at + LAST] < current - 1 then', 'false then'),
  fault('streaks', 'a day off uses a freeze', 'elseif off and', 'elseif false and'),
  fault('streak_rules', 'days off come a day early', 'EPOCH_WEEKDAY = 4', 'EPOCH_WEEKDAY = 5'),
  fault('streak_rules', 'own days off do not count', 'own and cjson.decode(own) or settings.daysOff', 'settings.daysOff'),
  fault('streaks', 'a period extends twice', 'return period > all[at + LAST]', 'return period >= all[at + LAST]'),
  fault('streaks', 'a reset streak starts in the next period only', 'or all[at + LENGTH] == 0', ''),
  fault('streaks', 'a reset is not shown in the history', "'lost', tx.now)", "'lost')"),
  fault('streaks', 'a restore after a reset leaves the history', "is_extended and before == 0 and 'extended' or 'restored'", "'restored'"),
  fault('streaks', 'a restore shortens a longer streak', 'all[shown + LENGTH] > all[shown + LOST_LENGTH]', 'false'),
  fault('streaks', 'a granted freeze is refused', '>= limit.maxFreezes', '>= 0'),
  fault('streaks', 'a taken freeze is refused', 'all[FREEZES] <= 0', 'all[FREEZES] >= 0'),
  fault('streaks', 'a pause starts in the past', 'pause.first < tx.day', 'false'),
  fault('streaks', 'a restored streak need not be kept today', 'all[shown + LAST] = current - 1', 'all[shown + LAST] = current'),
  fault(
    'streaks',
    'weeks begin on Monday for everybody',
    'calendar.period(frequency, day, week_shift(all, day, tx.plan.weekShift))',
    'calendar.period(frequency, day, 3)',
  ),
  fault('time', 'offsets count westwards', 'at + offset * MINUTE_MS) / DAY_MS', 'at - offset * MINUTE_MS) / DAY_MS'),
  fault(
    'time',
    'time-zone change: a skipped midnight is early',
    'math.max(from, day * DAY_MS - offset * MINUTE_MS)',
    'day * DAY_MS - offset * MINUTE_MS',
  ),
  fault(
    'transaction',
    'packing: a record is lost',
    'local value = records[name]',
    'local value = name ~= record.achievements and records[name] or {}',
  ),
  fault(
    'transaction',
    'packing: a record is fetched and not unpacked',
    'blob and unpack_record(name, blob) or new_record(name)',
    'new_record(name)',
  ),
  fault('transaction', 'ties: the sequence stands still', "meta.seq, '1')", "meta.seq, '0')"),
  fault('devices', 'a removed device token takes the others along', "#kept == 0 and '[]'", "'[]'"),
  fault('user_commands', 'a user can be created twice', "mode == 'create' and exists", 'false'),
  fault('devices', 'a former owner keeps the token', 'former[#former + 1] = other', ''),
  fault('users', 'the control group is the other one', 'share < plan.controlRatio', 'share >= plan.controlRatio'),
  fault('users', 'creating a user earns nothing', '    points.earn_creation(tx)', ''),
  fault(
    'users',
    'a stored address does not count',
    'patch.values[field.email] or users.property(tx, field.email)',
    'patch.values[field.email]',
  ),
  fault('users', 'time-zone change: a moved user has no grace', 'if name == field.tz and not tx.created then', 'if false then'),
];

/** Modules of which histories see nothing: a batch is sent in parts only when it is large (test/api/batch-events.test.ts). */
export const unseenModules: readonly string[] = ['batch_order'];

export const faults: readonly Fault[] = [...namedFaults, ...otherFaults];
