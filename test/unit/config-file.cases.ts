/** The table of config-file.test.ts. What belongs to achievements, streaks and the kinds of triggers and leaderboards is config-kinds.cases.ts. */

/** A file with a metric and an attribute of each type, and a points system. */
export const system = (fields: string): string => `metrics: [{key: m, name: M}]
attributes: [{key: city, name: City, type: user}, {key: device, name: Device, type: event}]
points:
  - {key: p, name: P, ${fields}}`;

/** What a line `@word rest` of a case below stands for. */
export const macros: Readonly<Record<string, (rest: string) => string>> = {
  metric: (rest) => `metrics: [{key: m, ${rest}}]`,
  system,
  level: (rest) => system(`levels: [{key: a, name: A, points: 5}, {key: b, name: B, ${rest}}]`),
  trigger: (rest) => system(`triggers: [{key: t, type: metric, ${rest}}]`),
  filter: (rest) => system(`triggers: [{key: t, type: metric, metricKey: m, metricThreshold: 1, points: 1, ${rest}}]`),
  boost: (rest) => system(`boosts: [{key: b, name: B, ${rest}}]`),
  type: (rest) => system(`triggers: [{key: t, points: 1, ${rest}}]`),
  achievement: (rest) => `${system('')}\nachievements: [{key: c, name: C, ${rest}}]`,
  streaks: (rest) => `metrics: [{key: m, name: M}]\nstreaks: {${rest}}`,
  board: (rest) => `metrics: [{key: m, name: M}]\nleaderboards: [{key: l, name: L, ${rest}}]`,
};

/**
 * Files that are wrong, by what is wrong with them. Each § is the place of a problem (twice where two are in one place), each line that
 * starts with `=` its sentence.
 */
export const badFiles = String.raw`
# a list for a file
§- a
= the file must be a map of fields, not a list
# a text for a file
§hello
= the file must be a map of fields, not "hello"
# two documents
metrics: []
§---
metrics: []
= a second YAML document starts here: a configuration file is one document
# a bracket left open
metrics: [§
= invalid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]
# a tag
metrics:
  - §!m {key: a, name: A}
= YAML tags are not supported (Unresolved tag: !m)
# an alias of nothing
metrics: §*m
= there is no anchor &m before this alias
# an alias inside its own anchor
metrics: &m
  - §*m
= the alias *m refers to an object that contains it
# a field given twice, the last of which counts
metrics: []
§"metrics": [§5]
= duplicate field metrics
= metric number 1 must be a map of fields, not the number 5
# an unknown field
@metric name: A, §unit: x
= metric "m": unknown field "unit" (allowed: key, name, unitType, units)
# an unknown field named __proto__
@metric name: A, §__proto__: {name: B}
= metric "m": unknown field "__proto__" (allowed: key, name, unitType, units)
# a merge key
metrics:
  - &a {key: a, name: A}
  - {§<<: *a, key: b, name: B}
= metric "b": unknown field "<<" (allowed: key, name, unitType, units)
# a list of something else
§badges: []
= unknown field "badges" (allowed: settings, attributes, metrics, points, achievements, streaks, leaderboards, webhooks, messages, templates)
# a map for a list
metrics: §{}
points: §5
= metrics must be a list, not a map
= points must be a list, not the number 5
# no key and no name
metrics:
  - §§units: u
= metric number 1: key is missing
= metric number 1: name is missing
# an empty key
metrics: [{key: §"", name: A}]
= metric "": key must be one or more letters, digits, - and _, not ""
# a key with a space
metrics: [{key: §a b, name: A}]
= metric "a b": key must be one or more letters, digits, - and _, not "a b"
# a key with a line break at its end
metrics: [{key: §"a\n", name: A}]
= metric "a\n": key must be one or more letters, digits, - and _, not "a\n"
# a key that JSON parsers refuse
metrics: [{key: §__proto__, name: A}]
= metric "__proto__": key must not be __proto__, which many JSON parsers refuse: choose another key
# a number for a key
metrics: [{key: §123, name: A}]
= metric number 1: key must be a text, not the number 123: put it in quotes
# a yes/no value for a name
@metric name: §true
= metric "m": name must be a text, not the boolean true: put it in quotes
# nothing for a name
metrics:
  - key: a
    §name:
    units: u
= metric "a": name must be a text, not empty
# spaces for a name
@metric name: §"  "
= metric "m": name must not be empty
# a NUL in a name
@metric name: §"x\0"
= metric "m": name must not contain a NUL character
# half a surrogate pair in a name
@metric name: §"\ud83dx"
= metric "m": name must not contain an unpaired surrogate
# a word that is none of the choices
@metric name: A, unitType: §euro
= metric "m": unitType must be number or currency, not "euro"
# a currency that is none
@metric name: A, unitType: currency, units: §euro
= metric "m": units must be the ISO 4217 code of a currency, such as EUR, not "euro"
# a key twice
metrics:
  - {key: a, name: A}
  - {key: b, name: B}
  - {key: §a, name: C}
= metric "a": duplicate key, first used on line 2
# an attribute twice, while the other type may share its key
attributes:
  - {key: a, name: A, type: user}
  - {key: a, name: A, type: event}
  - {key: §a, name: B, type: user}
= attribute "a": duplicate key, first used on line 2
# an attribute without a type
attributes: [§{key: a, name: A}]
= attribute "a": type is missing
# a number for the settings
settings: §5
= settings must be a map of fields, not the number 5
# a week that starts on a Tuesday
settings: {weekStart: §tuesday}
= settings: weekStart must be monday or sunday, not "tuesday"
# a control ratio above 1
settings: {controlRatio: §1.5}
= settings: controlRatio must be a number from 0 to 1, not the number 1.5
# a channel that does not exist, and one twice
messages: {recap: [email, §sms], reactivation: §[push, push]}
= messages: recap must be email or push, not "sms"
= messages: reactivation must not list a channel twice
# a brand that is none
messages: {brandName: §"", brandColor: §red, brandUrl: §"http://example.com", brandLogoUrl: §x, brandAddress: §" "}
= messages: brandName must not be empty
= messages: brandColor must be a color such as "#4f46e5", not "red"
= messages: brandUrl must start with https:// (http:// is for localhost only)
= messages: brandLogoUrl must be a URL like https://example.com, without spaces, a user name or a password
= messages: brandAddress must not be empty
# half a surrogate pair in the URL of a brand
messages: {brandUrl: §"https://example.com/\ud83dx"}
= messages: brandUrl must be a URL like https://example.com, without spaces, a user name or a password
# hosts that are none, and one twice
messages: {linkHosts: [§"https://a.example", §a/b, §"a b", §"u@a.example", §""]}
= messages: linkHosts must be a host such as app.example.com, not "https://a.example"
= messages: linkHosts must be a host such as app.example.com, not "a/b"
= messages: linkHosts must be a host such as app.example.com, not "a b"
= messages: linkHosts must be a host such as app.example.com, not "u@a.example"
= messages: linkHosts must be a host such as app.example.com, not ""
# one host in two letter cases
messages: {linkHosts: §[a.example, A.EXAMPLE]}
= messages: linkHosts must not list a host twice
# a locale that is none, and an attribute of events for the locale
attributes: [{key: device, name: Device, type: event}]
messages: {defaultLocale: §en_US, localeAttribute: §device}
= messages: defaultLocale must be a BCP 47 locale such as en or pt-BR, not "en_US"
= messages: there is no user attribute "device", only the event attribute with that key
# half of the quiet hours
messages: {quietFromHour: §null}
= messages: quietFromHour is required with quietToHour
# quiet hours of no length
messages: {quietFromHour: 5, quietToHour: §5}
= messages: quietFromHour and quietToHour are both 5: no hour is quiet. Use null for both
# too many messages, and too long a wait
messages: {maxPerUserDay: §101, achievementGroupMinutes: §-1}
= messages: maxPerUserDay must be a whole number from 1 to 100, not the number 101
= messages: achievementGroupMinutes must be a whole number from 0 to 240, not the number -1
# a template without anything
templates: [§§§§{}]
= template number 1: key is missing
= template number 1: name is missing
= template number 1: type is missing
= template number 1: locale is missing
# a template of a type that does not exist, whose texts are not judged
templates: [{key: t, name: T, type: §welcome, locale: en, body: "{{ period.start }}"}]
= template "t": type must be achievement_completed or recap or reactivation or streak_reminder, not "welcome"
# two templates of one type and locale
templates: [{key: t, name: T, type: recap, locale: pt-BR}, {key: u, name: U, type: recap, locale: §PT-br}]
= template "u": template "t" also has type recap and locale pt-BR
# empty texts where a message needs one
templates: [{key: t, name: T, type: recap, locale: en, subject: §"", body: §" ", pushTitle: §"", pushBody: §"", buttonUrl: §""}]
= template "t": subject must not be empty
= template "t": body must not be empty
= template "t": pushTitle must not be empty
= template "t": pushBody must not be empty
= template "t": buttonUrl must not be empty
# badges without a url, and with more
@system badge: §{§alt: y}
= points system "p": badge.url is missing
= points system "p": unknown field "alt" (in badge)
# a badge of a script
@system badge: {url: §"javascript:alert(1)"}
= points system "p": badge.url must be a URL that starts with https:// or http://
# a badge of a level without a scheme
@level points: 7, badge: {url: §gold.png}
= level "b": badge.url must be a URL that starts with https:// or http://
# badges of achievements with other schemes, a space or a control character
achievements: [{key: a, name: A, trigger: api, badge: {url: §"data:image/png;base64,AAAA"}}, {key: b, name: B, trigger: api, badge: {url: §" https://example.com/a.png"}}, {key: c, name: C, trigger: api, badge: {url: §"https://example.com/\ta.png"}}]
= achievement "a": badge.url must be a URL that starts with https:// or http://
= achievement "b": badge.url must be a URL that starts with https:// or http://
= achievement "c": badge.url must be a URL that starts with https:// or http://
# maxPoints of 0
@system maxPoints: §0
= points system "p": maxPoints must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
# a level at the points of another
@level points: §5
= level "b": level "a" also starts at 5 points
# a level that can't be reached
@system maxPoints: 10, levels: [{key: a, name: A, points: 10}, {key: b, name: B, points: §11}]
= level "b": 11 points cannot be reached because maxPoints is 10
# a level of negative points
@level points: §-1
= level "b": points must be a whole number from 0 to 1,000,000,000,000,000, not the number -1
# a level key twice
@system levels: [{key: a, name: A, points: 1}, {key: §a, name: B, points: 2}]
= level "a": duplicate key, first used on line 4
# a trigger of no points
@trigger metricKey: m, metricThreshold: 1, points: §-0
= trigger "t": points must not be 0: a trigger awards points, or deducts them with a negative number
# half a point
@trigger metricKey: m, metricThreshold: 1, points: §0.5
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not the number 0.5
# points beyond what a total may be
@trigger metricKey: m, metricThreshold: 1, points: §1000000000000001
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not the number 1000000000000001
# infinite points
@trigger metricKey: m, metricThreshold: 1, points: §-.inf
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not the number -Infinity
# points in quotes
@trigger metricKey: m, metricThreshold: 1, points: §"5"
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not "5"
# a threshold of 0
@trigger metricKey: m, metricThreshold: §0, points: 1
= trigger "t": metricThreshold must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
# a metric that does not exist
@trigger metricKey: §n, metricThreshold: 1, points: 1
= trigger "t": there is no metric "n"
# an attribute that does not exist
@filter userAttributes: [{attributeKey: §a, attributeValue: x}]
= trigger "t": there is no user attribute "a"
# a user attribute as a filter of events
@filter eventAttributes: [{attributeKey: §city, attributeValue: x}]
= trigger "t": there is no event attribute "city", only the user attribute with that key
# an event attribute as a filter of users
@filter userAttributes: [{attributeKey: §device, attributeValue: x}]
= trigger "t": there is no user attribute "device", only the event attribute with that key
# two filters on one attribute
@filter userAttributes: [{attributeKey: city, attributeValue: x}, {attributeKey: §city, attributeValue: y}]
= trigger "t": user attribute "city" is filtered twice, and all filters must match
# a filter without a value, and one with a number
@filter userAttributes: [§{attributeKey: city}], eventAttributes: [{attributeKey: device, attributeValue: §1}]
= trigger "t": userAttributes.attributeValue is missing
= trigger "t": eventAttributes.attributeValue must be a text, not the number 1: put it in quotes
# a multiplier of 0
@boost start: 2026-01-01, multiplier: §0
= boost "b": multiplier must be a number above 0 and below 100 with at most 6 decimal places, not the number 0
# a multiplier with seven decimals
@boost start: 2026-01-01, multiplier: §1.0000001
= boost "b": multiplier must be a number above 0 and below 100 with at most 6 decimal places, not the number 1.0000001
# a day that does not exist
@boost start: §2026-02-29, multiplier: 2
= boost "b": start must be a valid date in the form YYYY-MM-DD, not "2026-02-29"
# a day with a time
@boost start: §2026-02-01T00:00:00Z, multiplier: 2
= boost "b": start must be a valid date in the form YYYY-MM-DD, not "2026-02-01T00:00:00Z"
# a day of the year 0
@boost start: §0000-01-01, multiplier: 2
= boost "b": start must be a valid date in the form YYYY-MM-DD, not "0000-01-01"
# a day without dashes
@boost start: §20260201, multiplier: 2
= boost "b": start must be a date in the form YYYY-MM-DD, not the number 20260201
# a boost that ends before it starts
@boost start: 2026-02-02, end: §2026-02-01, multiplier: 2
= boost "b": the end 2026-02-01 is before the start 2026-02-02
# a user id with a control character
@boost start: 2026-01-01, multiplier: 2, userId: §"a\tb"
= boost "b": userId must not contain control characters
# a boost for a user and for attributes
@boost start: 2026-01-01, multiplier: 2, userId: u, userAttributes: §[{attributeKey: city, attributeValue: x}]
= boost "b": userAttributes cannot be combined with userId: the boost is for one user
# a board that ranks by nothing
leaderboards: [§{key: l, name: L}]
= leaderboard "l": rankBy is missing
# a board by something that does not exist
@board rankBy: §level
= leaderboard "l": rankBy must be metric or points or streak, not "level"
# a board by a metric with a points system instead
leaderboards: [§{key: l, name: L, rankBy: metric, pointsSystemKey: §p}]
= leaderboard "l": metricKey is required with rankBy: metric
= leaderboard "l": pointsSystemKey is not allowed with rankBy: metric
# a board by points with a metric as well
@board rankBy: points, pointsSystemKey: §p, metricKey: §m
= leaderboard "l": there is no points system "p"
= leaderboard "l": metricKey is not allowed with rankBy: points
# 1,001 participants
@board rankBy: metric, metricKey: m, maxParticipants: §1001
= leaderboard "l": maxParticipants must be a whole number from 1 to 1,000, not the number 1001
# a board that ends before it starts
@board rankBy: metric, metricKey: m, start: 2026-01-03, end: §2026-01-01
= leaderboard "l": the end 2026-01-01 is before the start 2026-01-03
# a board that ends before today, when it starts
@board rankBy: metric, metricKey: m, end: §2026-11-18
= leaderboard "l": the end 2026-11-18 is before the start 2026-11-20
# a status that only time gives
@board rankBy: metric, metricKey: m, status: §finished
= leaderboard "l": status must be inactive or active or scheduled, not "finished": a leaderboard finishes after its end
# a board that is scheduled for today
@board rankBy: metric, metricKey: m, status: scheduled, start: §2026-11-20
= leaderboard "l": start must be after today, 2026-11-20, for status: scheduled, not 2026-11-20
# a board that is scheduled for no day
leaderboards: [§{key: l, name: L, rankBy: streak, status: scheduled}]
= leaderboard "l": start must be after today, 2026-11-20, for status: scheduled, not 2026-11-20
# everything at once, in the order of the file
metrics:
  - {key: m, name: §5}
  - {key: §m, name: M}
points:
  - §key: §p p
    maxPoints: 10
    levels:
      - {key: a, points: 10, name: A, §color: red}
      - §{key: b, points: §10}
      - {key: c, points: §11, name: C}
    triggers:
      - {key: t, type: metric, metricKey: m, metricThreshold: §0, points: 1}
      - {key: u, type: §stroke, metricKey: §n, metricThreshold: 1, points: 1}
    boosts: §7
leaderboards:
  - §{key: l, rankBy: points, pointsSystemKey: §q, start: §2026-13-01, end: 2026-01-01}
§unknown: {}
= metric "m": name must be a text, not the number 5: put it in quotes
= metric "m": duplicate key, first used on line 2
= points system "p p": name is missing
= points system "p p": key must be one or more letters, digits, - and _, not "p p"
= level "a": unknown field "color" (allowed: key, name, points, description, badge)
= level "b": name is missing
= level "b": level "a" also starts at 10 points
= level "c": 11 points cannot be reached because maxPoints is 10
= trigger "t": metricThreshold must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
= trigger "u": type must be metric or achievement or streak or time or user_creation, not "stroke"
= trigger "u": there is no metric "n"
= points system "p p": boosts must be a list, not the number 7
= leaderboard "l": name is missing
= leaderboard "l": there is no points system "q"
= leaderboard "l": start must be a valid date in the form YYYY-MM-DD, not "2026-13-01"
= unknown field "unknown" (allowed: settings, attributes, metrics, points, achievements, streaks, leaderboards, webhooks, messages, templates)`;
