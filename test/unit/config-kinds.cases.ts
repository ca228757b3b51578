/** More of the table of config-file.test.ts: achievements, streaks, and the kinds of triggers and leaderboards. */
export const badKinds = String.raw`
# a metric trigger without a metric
metrics: []
points: [{key: p, name: P, triggers: [§{key: t, type: metric, metricThreshold: 5, points: 1}]}]
= trigger "t": metricKey is required with type: metric
# triggers without anything that their types need
points:
  - key: p
    name: P
    triggers:
      - §§{key: a, type: metric, points: 1}
      - §{key: b, type: streak, points: 1}
      - §{key: c, type: achievement, points: 1}
      - §§{key: d, type: time, points: 1}
= trigger "a": metricKey is required with type: metric
= trigger "a": metricThreshold is required with type: metric
= trigger "b": streakLength is required with type: streak
= trigger "c": achievementKey is required with type: achievement
= trigger "d": timeUnit is required with type: time
= trigger "d": timeInterval is required with type: time
# a trigger with fields of every other type
@type type: user_creation, metricKey: §m, metricThreshold: §5, streakLength: §7, achievementKey: §c, timeUnit: §days, timeInterval: §2
= trigger "t": metricKey is not allowed with type: user_creation
= trigger "t": metricThreshold is not allowed with type: user_creation
= trigger "t": streakLength is not allowed with type: user_creation
= trigger "t": achievementKey is not allowed with type: user_creation
= trigger "t": timeUnit is not allowed with type: user_creation
= trigger "t": timeInterval is not allowed with type: user_creation
# filters of events for what is no event
@type type: streak, streakLength: 7, eventAttributes: §[{attributeKey: device, attributeValue: x}]
= trigger "t": eventAttributes is not allowed with type: streak
# a block by a trigger that is not by metric
@type type: streak, streakLength: 7, blockIfOutOfPoints: §true
= trigger "t": blockIfOutOfPoints is not allowed with type: streak
# a block by a trigger that awards
@type type: metric, metricKey: m, metricThreshold: 5, blockIfOutOfPoints: §true
= trigger "t": blockIfOutOfPoints has no effect because the trigger deducts no points
# a block by a word
@type type: metric, metricKey: m, metricThreshold: 5, blockIfOutOfPoints: §yes
= trigger "t": blockIfOutOfPoints must be true or false, not "yes"
# a streak trigger of length 0
@type type: streak, streakLength: §0
= trigger "t": streakLength must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
# a trigger every 10,001 hours, or weeks
@type type: time, timeUnit: §weeks, timeInterval: §10001
= trigger "t": timeUnit must be hours or days, not "weeks"
= trigger "t": timeInterval must be a whole number from 1 to 10,000, not the number 10001
# a trigger of an achievement that does not exist
@type type: achievement, achievementKey: §c
= trigger "t": there is no achievement "c"
# a trigger without a type, which is judged by the fields that it has
@system triggers: [§{key: t, points: 1, achievementKey: §c}]
= trigger "t": type is missing
= trigger "t": there is no achievement "c"
# an achievement without a trigger, which others may need
achievements:
  - §{key: a, name: A, streakLength: 5}
  - {key: b, name: B, trigger: achievement, achievementKeys: [a, §c]}
= achievement "a": trigger is missing
= achievement "b": there is no achievement "c"
# an achievement of a kind that does not exist
@achievement trigger: §points
= achievement "c": trigger must be metric or streak or api or achievement or anniversary, not "points"
# achievements without what their triggers need
achievements:
  - §§{key: a, name: A, trigger: metric}
  - §{key: b, name: B, trigger: streak}
  - §{key: c, name: C, trigger: achievement}
  - §{key: d, name: D, trigger: anniversary}
= achievement "a": metricKey is required with trigger: metric
= achievement "a": metricValue is required with trigger: metric
= achievement "b": streakLength is required with trigger: streak
= achievement "c": achievementKeys is required with trigger: achievement
= achievement "d": anniversaryYears is required with trigger: anniversary
# an achievement with fields of other kinds
@achievement trigger: api, metricKey: §m, streakLength: §7, eventAttributes: §[{attributeKey: device, attributeValue: x}]
= achievement "c": metricKey is not allowed with trigger: api
= achievement "c": streakLength is not allowed with trigger: api
= achievement "c": eventAttributes is not allowed with trigger: api
# an anniversary of 0 years
@achievement trigger: anniversary, anniversaryYears: §0
= achievement "c": anniversaryYears must be a whole number from 1 to 1,000, not the number 0
# years of what is no anniversary
@achievement trigger: api, anniversaryYears: §1
= achievement "c": anniversaryYears is not allowed with trigger: api
# an achievement for a total of 0
@achievement trigger: metric, metricKey: m, metricValue: §0
= achievement "c": metricValue must be a number above 0 and up to 1,000,000,000,000,000, not the number 0
# an achievement for an infinite total
@achievement trigger: metric, metricKey: m, metricValue: §.inf
= achievement "c": metricValue must be a number above 0 and up to 1,000,000,000,000,000, not the number Infinity
# an achievement by a metric that does not exist
@achievement trigger: metric, metricKey: §n, metricValue: 1
= achievement "c": there is no metric "n"
# an achievement with a user attribute as a filter of events
@achievement trigger: metric, metricKey: m, metricValue: 1, eventAttributes: [{attributeKey: §city, attributeValue: x}]
= achievement "c": there is no event attribute "city", only the user attribute with that key
# an achievement with two filters on one attribute
@achievement trigger: api, userAttributes: [{attributeKey: city, attributeValue: x}, {attributeKey: §city, attributeValue: x}]
= achievement "c": user attribute "city" is filtered twice, and all filters must match
# an achievement that is active and more
@achievement trigger: api, status: §finished
= achievement "c": status must be inactive or active or locked, not "finished"
# an achievement key twice
achievements: [{key: a, name: A, trigger: api}, {key: §a, name: B, trigger: api}]
= achievement "a": duplicate key, first used on line 1
# an achievement made of nothing
@achievement trigger: achievement, achievementKeys: §[]
= achievement "c": achievementKeys must name at least one achievement
# an achievement made of one thing twice, and of nothing that exists
achievements:
  - {key: a, name: A, trigger: api}
  - {key: b, name: B, trigger: achievement, achievementKeys: [a, §a, §x, §x]}
= achievement "b": achievement "a" is listed twice
= achievement "b": there is no achievement "x"
= achievement "b": there is no achievement "x"
# an achievement that needs itself
@achievement trigger: achievement, achievementKeys: [§c]
= achievement "c": it can never be completed because it requires itself: c -> c
# an achievement that needs itself through others, on the side of which others stand
achievements:
  - {key: a, name: A, trigger: achievement, achievementKeys: [x, b]}
  - {key: b, name: B, trigger: achievement, achievementKeys: [x, §c]}
  - {key: c, name: C, trigger: achievement, achievementKeys: [d]}
  - {key: d, name: D, trigger: achievement, achievementKeys: [x, b, e]}
  - {key: e, name: E, trigger: achievement, achievementKeys: [x]}
  - {key: x, name: X, trigger: api}
= achievement "b": it can never be completed because it requires itself: b -> c -> d -> b
# two circles
achievements:
  - {key: a, name: A, trigger: achievement, achievementKeys: [§b]}
  - {key: b, name: B, trigger: achievement, achievementKeys: [a, c]}
  - {key: c, name: C, trigger: achievement, achievementKeys: [§c]}
= achievement "a": it can never be completed because it requires itself: a -> b -> a
= achievement "c": it can never be completed because it requires itself: c -> c
# a list for streaks
streaks: §[]
= streaks must be a map of fields, not a list
# streaks with unknown fields
@streaks §length: 5, freezes: {§start: 5}
= streaks: unknown field "length" (allowed: enabled, frequency, evaluationMode, metrics, freezes, daysOff, personalization)
= streaks: unknown field "start" (in freezes)
# words for other words
@streaks enabled: §on, frequency: §hourly, evaluationMode: §and, personalization: §1
= streaks: enabled must be true or false, not "on"
= streaks: frequency must be daily or weekly or monthly, not "hourly"
= streaks: evaluationMode must be AND or OR or ALL or ANY, not "and"
= streaks: personalization must be true or false, not the number 1
# streaks without conditions
streaks: §{enabled: true}
= streaks: metrics must name at least one metric while streaks are enabled
# streaks whose conditions are gone
@streaks enabled: true, metrics: §[]
= streaks: metrics must name at least one metric while streaks are enabled
# conditions that are wrong, of which nothing more is said
@streaks enabled: true, metrics: [§{metricKey: m}, {metricKey: m, threshold: §0}, {metricKey: §5, threshold: 1}]
= streaks: metrics.threshold is missing
= streaks: metrics.threshold must be a number above 0 and up to 1,000,000,000,000,000, not the number 0
= streaks: metrics.metricKey must be a text, not the number 5: put it in quotes
# conditions on a metric that does not exist
@streaks metrics: [{metricKey: §n, threshold: 1}]
= streaks: there is no metric "n"
# two conditions on one metric
@streaks enabled: true, metrics: [{metricKey: m, threshold: 1}, {metricKey: §m, threshold: 2}]
= streaks: metric "m" has two conditions
# more freezes at first than there may be
@streaks freezes: {initial: §3, maximum: 2}
= streaks: freezes.initial is 3, which is above the maximum of 2
# 101 freezes
@streaks freezes: {initial: §101, maximum: §101}
= streaks: freezes.initial must be a whole number from 0 to 100, not the number 101
= streaks: freezes.maximum must be a whole number from 0 to 100, not the number 101
# freezes that are earned at no time
@streaks freezes: §{maximum: 2, earnAmount: 1}
= streaks: freezes.earnInterval is required with freezes.earnAmount
# no freezes that are earned
@streaks freezes: §{maximum: 2, earnInterval: 7}
= streaks: freezes.earnAmount is required with freezes.earnInterval
# freezes beyond the limit
@streaks freezes: §{earnInterval: 7, earnAmount: 1}
= streaks: freezes.maximum is 0, so users cannot earn a freeze
# days off of no week
@streaks daysOff: [§7]
= streaks: daysOff must be a whole number from 0 to 6, not the number 7
# a day off twice
@streaks daysOff: §[1, 1]
= streaks: daysOff must not list a day twice
# days off of weekly streaks
@streaks frequency: weekly, daysOff: §[0]
= streaks: daysOff must be empty with frequency: weekly: only daily streaks have days off
# a streak board by a metric
@board rankBy: streak, metricKey: §m
= leaderboard "l": metricKey is not allowed with rankBy: streak
# a streak board that repeats
@board rankBy: streak, runUnit: §day, runInterval: §7
= leaderboard "l": runUnit is not allowed with rankBy: streak: only leaderboards by metric or points repeat
= leaderboard "l": runInterval is not allowed with rankBy: streak: only leaderboards by metric or points repeat
# a run of no unit
leaderboards: [§{key: l, name: L, rankBy: points, pointsSystemKey: §p, runInterval: 7}]
= leaderboard "l": runUnit is required with runInterval
= leaderboard "l": there is no points system "p"
# a run of no length
metrics: [{key: m, name: M}]
leaderboards: [§{key: l, name: L, rankBy: metric, metricKey: m, runUnit: month}]
= leaderboard "l": runInterval is required with runUnit
# runs of 0 weeks, of which nothing more is said
@board rankBy: metric, metricKey: m, runUnit: §week, runInterval: §0
= leaderboard "l": runUnit must be day or month or year, not "week"
= leaderboard "l": runInterval must be a whole number from 1 to 1,000, not the number 0
# a run of 0 days
@board rankBy: metric, metricKey: m, runUnit: day, runInterval: §0
= leaderboard "l": runInterval must be a whole number from 1 to 1,000, not the number 0
# a window that ends when the day begins
@board rankBy: metric, metricKey: m, endTime: §00:00
= leaderboard "l": the window is empty: it ends at 00:00, when the day starts. Omit endTime
# a window of no length
@board rankBy: metric, metricKey: m, startTime: 09:00, endTime: §09:00:00
= leaderboard "l": the window is empty: startTime and endTime are both 09:00
# times that no day has
@board rankBy: metric, metricKey: m, startTime: §24:00, endTime: §9:00
= leaderboard "l": startTime must be a valid time in the form HH:MM or HH:MM:SS, not "24:00"
= leaderboard "l": endTime must be a valid time in the form HH:MM or HH:MM:SS, not "9:00"
# hours for times
@board rankBy: metric, metricKey: m, startTime: §9, endTime: 17:00
= leaderboard "l": startTime must be a time in the form HH:MM or HH:MM:SS, not the number 9
# a breakdown by what is no user attribute
@metric name: M
attributes: [{key: device, name: Device, type: event}]
leaderboards: [{key: l, name: L, rankBy: streak, breakdownAttributes: [§device, §city]}]
= leaderboard "l": there is no user attribute "device", only the event attribute with that key
= leaderboard "l": there is no user attribute "city"
# a breakdown by one attribute twice
attributes: [{key: city, name: City, type: user}]
leaderboards: [{key: l, name: L, rankBy: streak, breakdownAttributes: [city, §city]}]
= leaderboard "l": user attribute "city" is listed twice
# a board that is scheduled for a day that is none
@board rankBy: metric, metricKey: m, status: scheduled, start: §2026-13-01
= leaderboard "l": start must be a valid date in the form YYYY-MM-DD, not "2026-13-01"`;
