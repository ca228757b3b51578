/** The id of nothing. */
export const nobody = '00000000-0000-4000-8000-000000000000';

/** What a table of a resource needs: ids of what it refers to are put in where it says so. */
export interface Ids {
  readonly metric: string;
  readonly other: string;
  readonly city: string;
  readonly kind: string;
  readonly system: string;
  readonly achievement: string;
}

interface Row {
  readonly path: string;
  /** Whether the contract has it. */
  readonly hosted: boolean;
  /** Items that are created, and what is shown of them beyond what was sent. */
  readonly create: (ids: Ids) => readonly (readonly [sent: object, shown: object])[];
  readonly update: (ids: Ids) => readonly (readonly [sent: object, shown: object])[];
  /** Fields that make a whole batch a 422, and what the sentence says. */
  readonly refused: readonly (readonly [fields: object, sentence: RegExp])[];
  /** Items that are issues, and what the message says. */
  readonly issues: (ids: Ids) => readonly (readonly [item: object, message: RegExp])[];
  /** Changes of the first item that are issues. */
  readonly bad: (ids: Ids) => readonly (readonly [fields: object, message: RegExp])[];
}

const filters = (id: string): object[] => [{ attributeId: id, attributeValue: 'x' }];

/** By resource: the table of admin-configuration.test.ts. */
export const rows: Readonly<Record<string, Row>> = {
  attributes: {
    path: '/attributes',
    hosted: true,
    create: () => [
      [{ name: 'Plan', key: 'plan', type: 'user' }, {}],
      [{ name: 'Plan', key: 'plan', type: 'event' }, {}],
    ],
    update: () => [
      [{ name: 'Tarif' }, { name: 'Tarif', key: 'plan', type: 'user' }],
      [
        { type: 'user', key: 'plan' },
        { name: 'Tarif', key: 'plan', type: 'user' },
      ],
    ],
    refused: [
      [{ name: ' ' }, /`0.name` must not be empty/],
      [{ name: 'x'.repeat(1001) }, /`0.name` is longer than 1,000 characters/],
      [{ key: 'a b' }, /`0.key` must be one or more letters/],
      [{ key: undefined }, /`0.key` is required/],
      [{ type: 'metric' }, /`0.type` must be one of user, event/],
    ],
    issues: () => [[{ name: 'P', key: 'plan', type: 'user' }, /Attribute "plan" already exists/]],
    bad: () => [
      [{ name: 'P', type: 'event' }, /^Attribute "plan": type cannot change: create another attribute with the one that you need\.$/],
      [{ name: 'P', key: 'tariff' }, /^Attribute "plan": key cannot change/],
    ],
  },
  metrics: {
    path: '/metrics',
    hosted: true,
    create: () => [
      [{ name: 'Money', key: 'money', unitType: 'currency', units: 'EUR' }, {}],
      [
        { name: 'Steps', key: 'steps' },
        { unitType: 'number', units: '' },
      ],
    ],
    update: () => [[{ units: 'USD' }, { name: 'Money', unitType: 'currency', units: 'USD' }]],
    refused: [],
    issues: () => [
      [{ name: 'M', key: 'money' }, /Metric "money" already exists/],
      [
        { name: 'M', key: 'coins', unitType: 'currency', units: 'XYZ' },
        /units must be the ISO 4217 code of a currency, such as EUR, not "XYZ"/,
      ],
    ],
    bad: () => [],
  },
  'points systems': {
    path: '/points',
    hosted: true,
    create: ({ metric, city }) => [
      [
        {
          name: 'Energy',
          key: 'energy',
          description: 'For play',
          badge: { url: 'https://x.test/e.png' },
          maxPoints: 100,
          levels: [{ name: 'Low', key: 'low', points: 10 }],
          boosts: [{ name: 'Double!', start: '2040-01-01', multiplier: 2, userAttributes: filters(city) }],
          triggers: [{ type: 'metric', points: 5, metricId: metric, metricThreshold: 1 }],
        },
        { status: 'active' },
      ],
      [
        { name: 'Gold', key: 'gold' },
        { description: '', badge: null, maxPoints: null, status: 'active', levels: [], boosts: [], triggers: [] },
      ],
    ],
    update: () => [
      [
        { maxPoints: null, description: '' },
        { name: 'Energy', maxPoints: null, description: '', badge: { url: 'https://x.test/e.png' } },
      ],
    ],
    refused: [
      [{ badge: { url: 'javascript:alert(1)' } }, /`0.badge.url` must be a URL that starts with https:\/\/ or http:\/\//],
      [{ badge: { url: 'https://x.test/\u0000' } }, /`0.badge.url` must be a URL that starts with https:\/\/ or http:\/\//],
      [{ levels: [{ name: 'L', key: 'l', points: -1 }] }, /`0.levels.0.points` must be a whole number from 0/],
    ],
    issues: ({ metric }) => [
      [{ name: 'G', key: 'gold' }, /"gold" already exists/],
      [
        { name: 'A', key: 'a1', levels: [1, 2].map((n) => ({ name: 'L', key: `l${n}`, points: 5 })) },
        /Level "l2": level "l1" also starts at 5 points/,
      ],
      [{ name: 'A', key: 'a2', triggers: [{ type: 'metric', points: 1, metricId: nobody, metricThreshold: 1 }] }, /no metric with the id/],
      [{ name: 'A', key: 'a3', triggers: [{ type: 'streak', points: 1, metricId: metric }] }, /streakLength is required with type: streak/],
    ],
    bad: () => [[{ maxPoints: 5 }, /Level "low": 10 points cannot be reached because maxPoints is 5/]],
  },
  levels: {
    path: '/points/{system}/levels',
    hosted: true,
    create: () => [
      [{ name: 'One', key: 'one', points: 10, description: 'First', badge: { url: 'http://x.test/b.png' } }, {}],
      [
        { name: 'Two', key: 'two', points: 20 },
        { description: '', badge: null },
      ],
    ],
    update: () => [
      [
        { points: 15, badge: null },
        { name: 'One', key: 'one', points: 15, description: 'First', badge: null },
      ],
    ],
    refused: [],
    issues: () => [
      [{ name: 'X', key: 'one', points: 99 }, /"one" already exists/],
      [{ name: 'X', key: 'x', points: 20 }, /level "two" also starts at 20 points/],
    ],
    bad: () => [[{ points: 20 }, /also starts at 20 points/]],
  },
  boosts: {
    path: '/points/{system}/boosts',
    hosted: true,
    create: ({ city }) => [
      [
        { name: 'Happy hour', start: '2040-02-01', end: '2040-02-03', multiplier: 1.5, rounding: 'up', userAttributes: filters(city) },
        { status: 'scheduled', userId: null },
      ],
      [
        { name: 'Happy hour', start: '2040-01-01', multiplier: 2, userId: 'ana' },
        { status: 'active', end: null, rounding: 'down', userAttributes: [] },
      ],
      [{ name: '¡Ñ!', start: '2039-01-01', end: '2039-01-02', multiplier: 3 }, { status: 'finished' }],
    ],
    update: () => [
      [
        { end: null, userAttributes: null },
        { name: 'Happy hour', end: null, userAttributes: [], status: 'scheduled' },
      ],
    ],
    refused: [
      [{ multiplier: 0 }, /`0.multiplier` must be a number above 0 and below 100/],
      [{ multiplier: 100 }, /`0.multiplier` must be a number above 0 and below 100/],
      [{ multiplier: 1 }, /`0.multiplier` must not be 1: a boost multiplies what users earn/],
      [{ start: '2040-02-30' }, /`0.start` must be a valid date in the form YYYY-MM-DD/],
      [{ userId: '' }, /`0.userId` must not be empty/],
      [{ userAttributes: [{ attributeId: 'x', attributeValue: 'y' }] }, /`0.userAttributes.0.attributeId` must be a UUID/],
    ],
    issues: ({ city, kind }) => [
      [{ name: 'B', start: '2040-01-02', end: '2040-01-01', multiplier: 2 }, /the end 2040-01-01 is before the start/],
      [
        { name: 'B', start: '2040-01-02', multiplier: 2, userId: 'a', userAttributes: filters(city) },
        /userAttributes cannot be combined with userId/,
      ],
      [{ name: 'B', start: '2040-01-02', multiplier: 2, userAttributes: filters(kind) }, /no user attribute with the id/],
      [{ name: 'B', start: '2040-01-02', multiplier: 2, userAttributes: [...filters(city), ...filters(city)] }, /"city" is filtered twice/],
    ],
    bad: () => [
      [{ end: '2039-01-01' }, /is before the start/],
      [{ userId: 'bo' }, /^Boost "happy-hour": userId cannot change/],
    ],
  },
  triggers: {
    path: '/points/{system}/triggers',
    hosted: true,
    create: ({ metric, city, kind, achievement }) => [
      [
        {
          type: 'metric',
          points: -5,
          status: 'active',
          metricId: metric,
          metricThreshold: 3,
          blockIfOutOfPoints: true,
          userAttributes: filters(city),
          eventAttributes: filters(kind),
        },
        {},
      ],
      [
        { type: 'streak', points: 1, streakLength: 7 },
        { status: 'inactive', userAttributes: [], blockIfOutOfPoints: false },
      ],
      [{ type: 'streak', points: 2, streakLength: 7 }, {}],
      [{ type: 'achievement', points: 1, achievementId: achievement }, {}],
      [{ type: 'time', points: 1, timeUnit: 'days', timeInterval: 2 }, {}],
      [{ type: 'user_creation', points: 1, eventAttributes: null, userAttributes: null }, { userAttributes: [] }],
    ],
    update: ({ metric }) => [
      [
        { type: 'streak', streakLength: 3, points: 5 },
        { type: 'streak', streakLength: 3, points: 5, status: 'active', metricId: undefined, blockIfOutOfPoints: false },
      ],
      [
        { type: 'metric', metricId: metric, metricThreshold: 2 },
        { type: 'metric', metricThreshold: 2, streakLength: undefined, eventAttributes: [] },
      ],
    ],
    refused: [
      [{ points: 0 }, /`0.points` must not be 0/],
      [{ timeInterval: 10_001 }, /`0.timeInterval` must be a whole number from 1 to 10,000/],
    ],
    issues: ({ metric, city }) => [
      [{ type: 'metric', points: 1 }, /metricId is required with type: metric/],
      [{ type: 'metric', points: 1, metricId: nobody, metricThreshold: 1 }, /There is no metric with the id/],
      [{ type: 'metric', points: 1, metricId: metric, metricThreshold: 1, blockIfOutOfPoints: true }, /blockIfOutOfPoints has no effect/],
      [
        { type: 'metric', points: 1, metricId: metric, metricThreshold: 1, eventAttributes: filters(city) },
        /no event attribute with the id/,
      ],
      [{ type: 'time', points: 1, timeUnit: 'days' }, /timeInterval is required/],
      [{ type: 'achievement', points: 1, achievementId: nobody }, /no achievement with the id/],
      [{ type: 'streak', points: 1, streakLength: 1, metricId: metric }, /metricId is not allowed with type: streak/],
    ],
    bad: () => [[{ type: 'time' }, /timeUnit is required/]],
  },
  leaderboards: {
    path: '/leaderboards',
    hosted: true,
    create: ({ metric, system, city }) => [
      [
        {
          name: 'Weekly',
          key: 'weekly',
          description: 'W',
          rankBy: 'metric',
          metricId: metric,
          maxParticipants: 10,
          start: '2040-02-01',
          end: '2040-12-31',
          startTime: '09:00',
          endTime: '17:00:30',
          breakdownAttributes: [city],
          runUnit: 'day',
          runInterval: 7,
          status: 'inactive',
        },
        {},
      ],
      [
        { name: 'By points', key: 'by-points', rankBy: 'points', pointsSystemId: system, status: 'active', maxParticipants: null },
        { status: 'active', maxParticipants: 1000, start: '2040-01-02', breakdownAttributes: [] },
      ],
      [{ name: 'Streaks', key: 'streaks', rankBy: 'streak', status: 'scheduled', start: '2040-01-03' }, { status: 'scheduled' }],
      [
        { name: 'Past', key: 'past', rankBy: 'streak', status: 'finished', start: '2039-01-01', end: '2039-12-31' },
        { status: 'finished', end: '2039-12-31' },
      ],
      [{ name: 'Evenings', key: 'evenings', rankBy: 'metric', metricId: metric, startTime: '17:00' }, {}],
      [{ name: 'Mornings', key: 'mornings', rankBy: 'metric', metricId: metric, endTime: '09:00' }, {}],
    ],
    update: ({ system }) => [
      [
        { key: 'renamed', startTime: null, endTime: null, end: null, runUnit: null },
        { key: 'renamed', name: 'Weekly', startTime: undefined, end: undefined, runUnit: undefined, runInterval: undefined },
      ],
      [
        { rankBy: 'points', pointsSystemId: system },
        { rankBy: 'points', metricId: undefined, pointsSystemId: system },
      ],
      [{ status: 'scheduled' }, { status: 'scheduled', start: '2040-02-01' }],
      [
        { status: 'scheduled', name: 'Later' },
        { status: 'scheduled', name: 'Later' },
      ],
    ],
    refused: [
      [{ maxParticipants: 1001 }, /`0.maxParticipants` must be a whole number from 1 to 1,000/],
      [{ startTime: '9:00' }, /`0.startTime` must be a valid time in the form HH:MM/],
    ],
    issues: ({ metric, kind }) => [
      [{ name: 'X', key: 'by-points', rankBy: 'streak' }, /"by-points" already exists/],
      [{ name: 'X', key: 'x', rankBy: 'metric' }, /metricId is required with rankBy: metric/],
      [{ name: 'X', key: 'x', rankBy: 'points', metricId: metric }, /metricId is not allowed with rankBy: points/],
      [{ name: 'X', key: 'x', rankBy: 'streak', runUnit: 'day', runInterval: 1 }, /only leaderboards by metric or points repeat/],
      [{ name: 'X', key: 'x', rankBy: 'streak', status: 'finished' }, /status: finished needs an end before today, 2040-01-02/],
      [{ name: 'X', key: 'x', rankBy: 'streak', status: 'finished', end: '2040-01-02' }, /status: finished needs an end before today/],
      [
        { name: 'X', key: 'x', rankBy: 'streak', status: 'active', start: '2041-01-01' },
        /use status: scheduled to make it active on that day/,
      ],
      [{ name: 'X', key: 'x', rankBy: 'streak', status: 'scheduled', start: '2040-01-02' }, /start must be after today/],
      [{ name: 'X', key: 'x', rankBy: 'streak', breakdownAttributes: [kind] }, /no user attribute with the id/],
    ],
    bad: () => [
      [{ status: 'active' }, /scheduled and becomes active automatically on its start/],
      [{ status: 'finished' }, /it is scheduled and has not started, so it cannot be finished: delete it instead/],
      [{ status: 'inactive' }, /cannot become inactive again/],
      [{ rankBy: 'streak' }, /rankBy cannot change once a leaderboard is active/],
      [{ key: 'by-points' }, /"by-points" already exists/],
    ],
  },
  templates: {
    path: '/templates',
    hosted: false,
    create: () => [
      [
        {
          name: 'Weekly recap',
          key: 'recap-en',
          type: 'recap',
          locale: 'en',
          subject: 'Your week, {{ user.name | default: "friend" }}',
          heading: '',
          body: '{{ metrics.cards.change | number }} cards\n\nin {{ user.attributes.city }}',
          button: null,
        },
        { button: null, buttonUrl: null, pushTitle: null, pushBody: null },
      ],
      [
        { name: 'Semana', type: 'recap', locale: 'pt-br' },
        { key: 'semana', locale: 'pt-BR', subject: null, heading: null, body: null },
      ],
    ],
    update: () => [
      [
        { pushTitle: '{{ points.xp.total }}', subject: null },
        { pushTitle: '{{ points.xp.total }}', subject: null, heading: '' },
      ],
      [
        { locale: 'EN-us', type: 'reactivation' },
        { locale: 'en-US', type: 'reactivation', name: 'Weekly recap' },
      ],
    ],
    refused: [[{ locale: 'english (US)' }, /`0.locale` must be a BCP 47 locale such as en or pt-BR/]],
    issues: () => [
      [{ name: 'X', key: 'recap-en', type: 'recap', locale: 'de' }, /"recap-en" already exists/],
      [{ name: 'X', type: 'recap', locale: 'PT-br' }, /^Template "x": template "semana" also has type recap and locale pt-BR/],
      [
        { name: 'X', type: 'recap', locale: 'de', body: 'a\n {{ user.nam }}' },
        /Template "x": body, line 2, column 5: there is no variable "user.nam"/,
      ],
      [{ name: 'X', type: 'recap', locale: 'de', body: '{% if user.name %}' }, /body, line 1, column 1: invalid Liquid: tag .* not closed/],
      [{ name: 'X', type: 'recap', locale: 'de', body: '{{ metrics.dogs.total }}' }, /there is no metric "dogs"/],
      [
        { name: 'X', type: 'recap', locale: 'de', buttonUrl: 'https://evil.example.com/' },
        /buttonUrl, .* whose host is in messages.linkHosts/,
      ],
    ],
    bad: () => [
      [{ pushBody: '{{ achievement.name }}' }, /no variable "achievement" in templates of the type reactivation/],
      [{ type: 'recap', locale: 'pt-BR' }, /^Template "semana": template "recap-en" also has type recap and locale pt-BR/],
    ],
  },
  achievements: {
    path: '/achievements',
    hosted: true,
    create: ({ metric, city, kind, achievement }) => [
      [
        {
          name: 'Ten',
          key: 'ten',
          description: 'D',
          badge: { url: 'http://x.test/b.png' },
          trigger: 'metric',
          metricId: metric,
          metricValue: 10.5,
          userAttributes: filters(city),
          eventAttributes: filters(kind),
          status: 'active',
        },
        {},
      ],
      [
        { name: 'A week: kept!', trigger: 'streak', streakLength: 7 },
        { key: 'a-week-kept', status: 'inactive', description: null, badge: null, userAttributes: [] },
      ],
      [{ name: 'A week, kept', trigger: 'api' }, { key: 'a-week-kept-2' }],
      [{ name: 'Both', trigger: 'achievement', achievementIds: [achievement] }, { key: 'both' }],
      [{ name: 'A year', trigger: 'anniversary', anniversaryYears: 1 }, { key: 'a-year' }],
    ],
    update: ({ metric, other, achievement }) => [
      [
        { status: 'locked', metricValue: 12 },
        { status: 'locked', metricValue: 12, name: 'Ten' },
      ],
      [
        { status: 'active', description: null },
        { status: 'active', description: null },
      ],
      [
        { trigger: 'streak', streakLength: 3, badge: null, userAttributes: null, eventAttributes: null },
        { streakLength: 3, badge: null, userAttributes: [], metricId: undefined, metricValue: undefined, eventAttributes: undefined },
      ],
      [
        { trigger: 'api', key: 'renamed' },
        { trigger: 'api', key: 'renamed', name: 'Ten', streakLength: undefined },
      ],
      [
        { trigger: 'achievement', achievementIds: [achievement] },
        { trigger: 'achievement', achievementIds: [achievement], key: 'renamed' },
      ],
      [
        { trigger: 'metric', metricId: metric, metricValue: 5, key: 'ten' },
        { metricId: metric, metricValue: 5, eventAttributes: [], key: 'ten', status: 'active', achievementIds: undefined },
      ],
      [{ metricId: other }, { metricId: other, metricValue: 5 }],
    ],
    refused: [
      [{ metricValue: 0 }, /`0.metricValue` must be a number above 0/],
      [{ anniversaryYears: 0 }, /`0.anniversaryYears` must be a whole number from 1/],
    ],
    issues: ({ metric }) => [
      [{ name: 'X', key: 'ten', trigger: 'api' }, /"ten" already exists/],
      [{ name: 'X', trigger: 'metric', metricId: metric }, /metricValue is required with trigger: metric/],
      [{ name: 'X', trigger: 'api', metricId: metric }, /metricId is not allowed with trigger: api/],
      [{ name: 'X', trigger: 'anniversary' }, /anniversaryYears is required with trigger: anniversary/],
      [{ name: 'X', trigger: 'achievement', achievementIds: [] }, /must name at least one achievement/],
      [{ name: 'X', trigger: 'achievement', achievementIds: [nobody] }, /no achievement with the id/],
    ],
    bad: () => [
      [{ status: 'inactive' }, /cannot become inactive again/],
      [{ trigger: 'streak' }, /streakLength is required with trigger: streak/],
      [{ trigger: 'api', metricValue: 6 }, /metricValue is not allowed with trigger: api/],
      [{ metricId: nobody }, /no metric with the id/],
      [{ key: 'both' }, /"both" already exists/],
    ],
  },
};
