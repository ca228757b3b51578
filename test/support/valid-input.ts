import type { Input } from './bad-values.js';
import { bodyOf } from './answers.js';
import { cityPlanAndDevice } from './configs.js';
import type { Described } from './openapi.js';
import type { Reply, World } from './world.js';

/** A configuration in which every operation has something to work on. */
export const everything = {
  attributes: cityPlanAndDevice,
  metrics: [{ key: 'm', name: 'M', unitType: 'currency', units: 'EUR' }],
  achievements: [
    { key: 'by-call', name: 'By call', trigger: 'api', status: 'active' },
    { key: 'by-metric', name: 'By metric', trigger: 'metric', metricKey: 'm', metricValue: 5, status: 'active' },
    { key: 'far', name: 'Far', trigger: 'streak', streakLength: 100, status: 'active' },
    { key: 'year', name: 'A year', trigger: 'anniversary', anniversaryYears: 1, status: 'active' },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    metrics: [{ metricKey: 'm', threshold: 1 }],
    personalization: true,
    freezes: { initial: 1, maximum: 5, earnInterval: 7, earnAmount: 1 },
  },
  points: [
    {
      key: 'p',
      name: 'P',
      description: 'Points',
      badge: { url: 'https://example.com/p.png' },
      maxPoints: 1_000,
      levels: [{ key: 'one', name: 'One', points: 10, description: 'The first', badge: { url: 'https://example.com/1.png' } }],
      triggers: [{ key: 'plain', type: 'metric', metricKey: 'm', metricThreshold: 5, points: 10, status: 'active' }],
      boosts: [
        { key: 'all', name: 'All', start: '2020-01-01', multiplier: 1.1, rounding: 'up' },
        { key: 'own', name: 'Own', start: '2020-01-01', multiplier: 2, userId: 'ana' },
      ],
    },
  ],
  leaderboards: [
    { key: 'l', name: 'L', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01' },
    {
      key: 'weekly',
      name: 'Weekly',
      status: 'active',
      rankBy: 'points',
      pointsSystemKey: 'p',
      start: '2040-01-02',
      runUnit: 'day',
      runInterval: 7,
    },
  ],
};

/** Ids that earlier calls have brought, by name. */
export type Known = Record<string, string>;

interface Valid {
  readonly input: (known: Known) => Input;
  /** The name under which the id of the first thing that was created is kept. */
  readonly keep?: string;
}

const always = (input: Input): Valid => ({ input: () => input });
const id = 'ana';
const of = (key: string): Input => ({ params: { id, key } });
const days = { aggregation: 'daily', startDate: '2040-01-01', endDate: '2040-01-02' };
const page = always({ query: { limit: 5, skip: 0 } });

const application: Readonly<Record<string, Valid>> = {
  users_create: always({ body: { id: 'new', name: 'New', email: 'new@example.com', tz: 'Asia/Tokyo', attributes: { city: 'Kyoto' } } }),
  users_identify: always({ params: { id }, body: { name: 'Ana', email: 'ana@example.com', subscribeToEmails: true, deviceTokens: ['t'] } }),
  users_update: always({ params: { id }, body: { attributes: { city: 'Lisbon' }, tz: 'Europe/Lisbon', signUpDate: '2039-12-31' } }),
  users_get: always({ params: { id } }),
  metrics_event: always({
    params: { key: 'm' },
    headers: { 'Idempotency-Key': 'lesson 1' },
    body: { user: { id, name: 'Ana' }, value: 7.5, attributes: { device: 'phone' } },
  }),
  users_get_preferences: always({ params: { id } }),
  users_update_preferences: always({
    params: { id },
    body: { notifications: { recap: ['email'] }, streak: { enabled: true, evaluationMode: 'AND', metrics: [{ key: 'm', threshold: 2 }] } },
  }),
  users_all_metrics: always({ params: { id } }),
  users_single_metric: always(of('m')),
  users_metric_event_summary: always({ ...of('m'), query: days }),
  users_achievements: always({ params: { id }, query: { includeIncomplete: 'true' } }),
  users_streak: always({ params: { id }, query: { historyPeriods: 3 } }),
  streaks_list: always({ query: { userIds: [id, 'new'] } }),
  users_points: always({ ...of('p'), query: { awards: 5 } }),
  users_points_boosts: always(of('p')),
  users_points_event_summary: always({ ...of('p'), query: days }),
  users_leaderboard: always({ ...of('weekly'), query: { run: '2040-01-02', numEvents: 5 } }),
  users_wrapped: always({ params: { id }, query: { year: 2040 } }),
  achievements_all: always({ query: { userAttributes: 'city:Lisbon' } }),
  achievements_complete: always({ params: { key: 'by-call' }, body: { user: { id } } }),
  points_summary: always({ params: { key: 'p' }, query: { userAttributes: 'city:Lisbon' } }),
  points_system: always({ params: { key: 'p' } }),
  points_boosts: always({ params: { key: 'p' }, query: { includeFinished: true } }),
  points_levels: always({ params: { key: 'p' } }),
  points_level_summary: always({ params: { key: 'p' } }),
  leaderboards_all: always({ query: { includeFinished: true } }),
  leaderboards_get: always({ params: { key: 'l' }, query: { offset: 0, limit: 5, userId: id } }),
};

/** The operations on one kind of object: create, list, get, update. (Deleting comes last of all.) */
function lifeOf(
  operation: string,
  keep: string,
  created: (known: Known) => object,
  updated: object,
  within = false,
): Record<string, Valid> {
  const params = (known: Known): Record<string, string> => (within ? { systemId: known['system'] ?? '' } : {});
  const one = (known: Known): string => known[keep] ?? '';
  return {
    [`${operation}_create`]: { keep, input: (known) => ({ params: params(known), body: [created(known)] }) },
    [`${operation}_list`]: { input: (known) => ({ ...page.input(known), params: params(known) }) },
    [`${operation}_get`]: { input: (known) => ({ params: { ...params(known), id: one(known) } }) },
    [`${operation}_update`]: { input: (known) => ({ params: params(known), body: [{ id: one(known), ...updated }] }) },
  };
}

const endOf = (operation: string, keep: string, within = false): Record<string, Valid> => ({
  [`${operation}_delete`]: {
    input: (known) => ({ params: within ? { systemId: known['system'] ?? '' } : {}, query: { ids: [known[keep] ?? ''] } }),
  },
});

const badge = { url: 'https://example.com/badge.png' };
const filter = (known: Known): object => ({ attributeId: known['attribute'], attributeValue: 'Lisbon' });

const admin: Readonly<Record<string, Valid>> = {
  ...lifeOf('admin_attributes', 'attribute', () => ({ name: 'Country', key: 'country', type: 'user' }), { name: 'Land' }),
  ...lifeOf('admin_metrics', 'metric', () => ({ name: 'Pages', key: 'pages', unitType: 'number', units: 'pages' }), { name: 'Leaves' }),
  ...lifeOf(
    'admin_points_systems',
    'system',
    ({ metric }) => ({
      name: 'Gems',
      key: 'gems',
      description: 'Gems',
      badge,
      maxPoints: 500,
      levels: [{ name: 'Rich', key: 'rich', points: 100 }],
      boosts: [{ name: 'May', start: '2040-05-01', multiplier: 2 }],
      triggers: [{ type: 'metric', points: 1, metricId: metric, metricThreshold: 2 }],
    }),
    { description: 'Shiny', badge: null, maxPoints: null },
  ),
  ...lifeOf(
    'admin_points_boosts',
    'boost',
    (known) => ({ name: 'June', start: '2040-06-01', end: '2040-06-30', multiplier: 1.5, rounding: 'up', userAttributes: [filter(known)] }),
    { name: 'Summer', end: null },
    true,
  ),
  ...lifeOf(
    'admin_points_levels',
    'level',
    () => ({ name: 'Richer', key: 'richer', points: 200, description: 'More', badge }),
    { points: 250, badge: null },
    true,
  ),
  ...lifeOf(
    'admin_points_triggers',
    'trigger',
    (known) => ({
      type: 'metric',
      points: 3,
      status: 'active',
      metricId: known['metric'],
      metricThreshold: 4,
      userAttributes: [filter(known)],
    }),
    { points: 4, status: 'inactive' },
    true,
  ),
  ...lifeOf(
    'admin_achievements',
    'achievement',
    (known) => ({
      name: 'Reader',
      key: 'reader',
      description: 'Reads',
      status: 'active',
      badge,
      trigger: 'metric',
      metricId: known['metric'],
      metricValue: 100,
      userAttributes: [filter(known)],
    }),
    { description: null, badge: null, metricValue: 200 },
  ),
  ...lifeOf(
    'admin_leaderboards',
    'leaderboard',
    ({ metric, attribute }) => ({
      name: 'Readers',
      key: 'readers',
      description: 'Who reads',
      status: 'inactive',
      rankBy: 'metric',
      metricId: metric,
      maxParticipants: 50,
      start: '2041-01-01',
      end: '2041-12-31',
      startTime: '08:00',
      endTime: '20:00',
      breakdownAttributes: [attribute],
      runUnit: 'day',
      runInterval: 7,
    }),
    { name: 'All readers', end: null },
  ),
  admin_metrics_batch_events: always({
    body: [{ key: 'm', user: { id: 'batch', name: 'Batch' }, value: 2.5, attributes: { device: 'phone' }, idempotencyKey: 'batch 1' }],
  }),
  admin_streaks_freezes_create: always({ body: { freezes: [{ userId: id }] } }),
  admin_streaks_pauses_create: {
    keep: 'pause',
    input: () => ({ body: { pauses: [{ userId: id, start: '2040-02-01', end: '2040-02-07' }] } }),
  },
  admin_streaks_restore: always({ body: { users: [{ id }] } }),
  admin_streaks_reset: always({ body: { users: [{ id }] } }),
  admin_streaks_settings_get: always({}),
  admin_streaks_settings_update: always({ body: { frequency: 'daily' } }),
  admin_settings_get: always({}),
  admin_settings_update: always({ body: {} }),
  admin_environments_list: always({}),
  admin_application_api_keys_create: { keep: 'applicationKey', input: () => ({ body: [{ userId: id }] }) },
  ...lifeOf('admin_tenants', 'tenant', () => ({ customerId: 'acme', name: 'Acme' }), { name: 'Acme & Co' }),
};

const ends: Readonly<Record<string, Valid>> = {
  ...endOf('admin_tenants', 'tenant'),
  ...endOf('admin_application_api_keys', 'applicationKey'),
  ...endOf('admin_streaks_pauses', 'pause'),
  ...endOf('admin_leaderboards', 'leaderboard'),
  ...endOf('admin_achievements', 'achievement'),
  ...endOf('admin_points_triggers', 'trigger', true),
  ...endOf('admin_points_levels', 'level', true),
  ...endOf('admin_points_boosts', 'boost', true),
  ...endOf('admin_points_systems', 'system'),
  ...endOf('admin_metrics', 'metric'),
  ...endOf('admin_attributes', 'attribute'),
};

/** What every operation of the contract is called with, in an order in which all of it works. */
export const validInput: Readonly<Record<string, Valid>> = { ...application, ...admin, ...ends };

/** Those of them that take nothing away. */
export const harmless: readonly string[] = Object.keys({ ...application, ...admin });

/** A path with its parameters and query filled in. */
function addressOf(path: string, { params = {}, query = {} }: Input): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'none'));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as unknown[]) : [value]).map((item) => `${name}=${encodeURIComponent(String(item))}`),
  );
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
}

/** Calls an operation at the base of its API. */
export function call(world: World, base: string, { method, path }: Described, input: Input, raw?: string): Promise<Reply> {
  const { headers = {}, body } = input;
  const sent = raw === undefined ? (body === undefined ? {} : { body }) : { raw };
  return world.request(method, base + addressOf(path, input), { headers, ...sent });
}

/** Calls an operation with its valid input, and stores the ids that later ones need. Throws unless all of it succeeds. */
export async function callValid(world: World, base: string, operation: Described, known: Known): Promise<Reply> {
  const valid = validInput[operation.id];
  if (!valid) throw new Error(`valid-input.ts has no input for ${operation.id}`);
  const reply = await call(world, base, operation, valid.input(known));
  const body = bodyOf<{ issues?: readonly unknown[]; created?: readonly { id: string }[] }>(reply, reply.status < 300 ? reply.status : 200);
  if ((body.issues ?? []).length > 0 && !mayFail.includes(operation.id)) {
    throw new Error(`${operation.id} has issues: ${JSON.stringify(body.issues)}`);
  }
  if (valid.keep !== undefined) known[valid.keep] = body.created?.[0]?.id ?? '';
  return reply;
}

/** There is no lost streak to restore without days going by. */
const mayFail = ['admin_streaks_restore', 'admin_streaks_reset'];
