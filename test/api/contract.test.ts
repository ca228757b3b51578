import { expect } from 'chai';
import { bodyOf, configText, track } from '../support/answers.js';
import { cityPlanAndDevice } from '../support/configs.js';
import { Contract } from '../support/contract.js';
import { type RequestOptions, startWorld, type World } from '../support/world.js';

/** A configuration that makes responses show everything that they can show. */
const config = {
  attributes: [...cityPlanAndDevice, { key: 'mode', name: 'Mode', type: 'event' }],
  metrics: [{ key: 'm', name: 'M', unitType: 'currency', units: 'EUR' }],
  points: [
    {
      key: 'p',
      name: 'P',
      description: 'Points',
      badge: { url: 'https://example.com/p.png' },
      maxPoints: 1_000,
      levels: [
        { key: 'start', name: 'Start', points: 0 },
        { key: 'one', name: 'One', points: 10, description: 'The first', badge: { url: 'https://example.com/1.png' } },
      ],
      triggers: [
        { key: 'plain', type: 'metric', metricKey: 'm', metricThreshold: 5, points: 10, status: 'active' },
        {
          key: 'filtered',
          type: 'metric',
          metricKey: 'm',
          metricThreshold: 1,
          points: -1,
          status: 'active',
          userAttributes: [{ attributeKey: 'city', attributeValue: 'Lisbon' }],
          eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }],
        },
        {
          key: 'narrow',
          type: 'metric',
          metricKey: 'm',
          metricThreshold: 1,
          points: 1,
          status: 'active',
          eventAttributes: [
            { attributeKey: 'device', attributeValue: 'phone' },
            { attributeKey: 'mode', attributeValue: 'night' },
          ],
        },
      ],
      boosts: [
        { key: 'all', name: 'All', start: '2020-01-01', multiplier: 1.1, rounding: 'up' },
        { key: 'month', name: 'Month', start: '2040-01-01', end: '2040-01-31', multiplier: 2, userId: 'ana' },
      ],
    },
    { key: 'bare', name: 'Bare' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  achievements: [
    { key: 'one', name: 'One', trigger: 'metric', metricKey: 'm', metricValue: 1, status: 'active' },
    { key: 'api', name: 'By call', trigger: 'api', status: 'active' },
  ],
  leaderboards: [
    { key: 'by-metric', name: 'By metric', description: 'All', status: 'active', rankBy: 'metric', metricKey: 'm', maxParticipants: 2 },
    { key: 'by-points', name: 'By points', status: 'active', rankBy: 'points', pointsSystemKey: 'p', end: '2050-01-01' },
    { key: 'scheduled', name: 'Scheduled', status: 'active', start: '2050-01-01', rankBy: 'metric', metricKey: 'm' },
    { key: 'finished', name: 'Finished', status: 'active', start: '2039-01-01', end: '2039-12-31', rankBy: 'metric', metricKey: 'm' },
  ],
};

const ana = {
  id: 'ana',
  name: 'Ana',
  email: 'ana@example.com',
  tz: 'Europe/Lisbon',
  signUpDate: '2039-12-31',
  subscribeToEmails: true,
  deviceTokens: ['token'],
  attributes: { city: 'Lisbon' },
};
const rich = { user: ana, value: 7.5, attributes: { device: 'phone', mode: 'night' } };

/** A call, and the operation and the status of the contract that its response must be of. */
type Case = readonly [what: string, method: string, template: string, path: string, request: RequestOptions, status: number, as?: number];

const eventTemplate = '/metrics/{key}/event';
const eventPath = '/metrics/m/event';
const key = { 'idempotency-key': 'k' };
const january = 'aggregation=weekly&startDate=2040-01-01&endDate=2040-01-31';
const preferences = { notifications: { recap: ['email'], streak_reminder: [] } };
const calls: readonly Case[] = [
  ['an event of a new user', 'POST', eventTemplate, eventPath, { body: { user: { id: 'ben' }, value: 0.5 } }, 201],
  ['an event with everything', 'POST', eventTemplate, eventPath, { body: rich, headers: key }, 201],
  ['its replay', 'POST', eventTemplate, eventPath, { body: rich, headers: key }, 202, 201],
  ['an event that changes nothing', 'POST', eventTemplate, eventPath, { body: { user: { id: 'ben' }, value: 0 } }, 201],
  ['an event up to the cap', 'POST', eventTemplate, eventPath, { body: { ...rich, value: 200 } }, 201],
  ['a new user', 'POST', '/users', '/users', { body: { ...ana, id: 'carl' } }, 201],
  ['a new user with an id alone', 'POST', '/users', '/users', { body: { id: 'dora' } }, 201],
  ['a user identified', 'PUT', '/users/{id}', '/users/emil', { body: { name: 'Emil' } }, 200],
  ['a user changed', 'PATCH', '/users/{id}', '/users/emil', { body: { tz: null, deviceTokens: null } }, 200],
  ['a user', 'GET', '/users/{id}', '/users/ana', {}, 200],
  ['a user of whom little is known', 'GET', '/users/{id}', '/users/dora', {}, 200],
  ['metrics', 'GET', '/users/{id}/metrics', '/users/ana/metrics', {}, 200],
  ['a metric', 'GET', '/users/{id}/metrics/{key}', '/users/ana/metrics/m', {}, 200],
  ['a metric at 0', 'GET', '/users/{id}/metrics/{key}', '/users/dora/metrics/m', {}, 200],
  ['points', 'GET', '/users/{id}/points/{key}', '/users/ana/points/p', {}, 200],
  ['points that are none', 'GET', '/users/{id}/points/{key}', '/users/ana/points/bare', {}, 200],
  ['a place', 'GET', '/users/{id}/leaderboards/{key}', '/users/ana/leaderboards/by-metric', {}, 200],
  ['a place by points', 'GET', '/users/{id}/leaderboards/{key}', '/users/ana/leaderboards/by-points', {}, 200],
  ['no place', 'GET', '/users/{id}/leaderboards/{key}', '/users/dora/leaderboards/by-metric', {}, 200],
  ['leaderboards', 'GET', '/leaderboards', '/leaderboards?includeFinished=true', {}, 200],
  ['a leaderboard', 'GET', '/leaderboards/{key}', '/leaderboards/by-metric', {}, 200],
  ['a leaderboard by points', 'GET', '/leaderboards/{key}', '/leaderboards/by-points', {}, 200],
  ['a leaderboard that is scheduled', 'GET', '/leaderboards/{key}', '/leaderboards/scheduled', {}, 200],
  ['a leaderboard that is finished', 'GET', '/leaderboards/{key}', '/leaderboards/finished', {}, 200],
  ['a summary of a metric', 'GET', '/users/{id}/metrics/{key}/event-summary', `/users/ana/metrics/m/event-summary?${january}`, {}, 200],
  ['a summary of points', 'GET', '/users/{id}/points/{key}/event-summary', `/users/ana/points/p/event-summary?${january}`, {}, 200],
  ['a summary without dates', 'GET', '/users/{id}/points/{key}/event-summary', '/users/ana/points/p/event-summary', {}, 422],
  ['a points system', 'GET', '/points/{key}', '/points/p', {}, 200],
  ['a points system with nothing', 'GET', '/points/{key}', '/points/bare', {}, 200],
  ['how points are spread', 'GET', '/points/{key}/summary', '/points/p/summary', {}, 200],
  ['how points are spread in Lisbon', 'GET', '/points/{key}/summary', '/points/p/summary?userAttributes=city:Lisbon', {}, 200],
  ['levels', 'GET', '/points/{key}/levels', '/points/p/levels', {}, 200],
  ['how levels are spread', 'GET', '/points/{key}/level-summary', '/points/p/level-summary', {}, 200],
  ['boosts', 'GET', '/points/{key}/boosts', '/points/p/boosts?includeFinished=true', {}, 200],
  ["a user's boosts", 'GET', '/users/{id}/points/{key}/boosts', '/users/ana/points/p/boosts', {}, 200],
  ['a year in review', 'GET', '/users/{id}/wrapped', '/users/ana/wrapped', {}, 200],
  ['a year in review of nothing', 'GET', '/users/{id}/wrapped', '/users/dora/wrapped?year=2001', {}, 200],
  ['achievements', 'GET', '/achievements', '/achievements', {}, 200],
  ["a user's achievements", 'GET', '/users/{id}/achievements', '/users/ana/achievements?includeIncomplete=true', {}, 200],
  ['a streak', 'GET', '/users/{id}/streak', '/users/ana/streak?historyPeriods=3', {}, 200],
  ['streaks', 'GET', '/streaks', '/streaks?userIds=ana&userIds=nobody', {}, 200],
  ['preferences', 'GET', '/users/{id}/preferences', '/users/ana/preferences', {}, 200],
  ['preferences changed', 'PATCH', '/users/{id}/preferences', '/users/ana/preferences', { body: preferences }, 200],
  [
    'an achievement completed',
    'POST',
    '/achievements/{key}/complete',
    '/achievements/api/complete',
    { body: { user: { id: 'ana' } } },
    201,
  ],
  ['no JSON', 'POST', eventTemplate, eventPath, { raw: '{' }, 400],
  ['no key', 'POST', eventTemplate, eventPath, { body: rich, key: null }, 401],
  ['a bad event', 'POST', eventTemplate, eventPath, { body: {} }, 422],
  ['a user who exists', 'POST', '/users', '/users', { body: { id: 'ana' } }, 422],
  ['a user to change who does not', 'PATCH', '/users/{id}', '/users/nobody', { body: {} }, 404],
  ['points of an unknown user', 'GET', '/users/{id}/points/{key}', '/users/nobody/points/p', {}, 404],
  ['no leaderboard', 'GET', '/leaderboards/{key}', '/leaderboards/nothing', {}, 404],
  ['a bad limit', 'GET', '/leaderboards/{key}', '/leaderboards/by-metric?limit=x', {}, 422],
];

describe('The contract of the hosted service', () => {
  let world: World;
  let contract: Contract;
  before(async () => {
    contract = new Contract();
    world = await startWorld({ config: configText(config) });
    await track(world, 'm', { user: 'first', value: 1.25 });
  });
  after(() => world.stop());

  describe('holds for the response to', () => {
    for (const [what, method, template, path, request, status, as = status] of calls) {
      it(`${what}: ${method} ${path} (${status})`, async () => {
        const body = bodyOf<unknown>(await world.request(method, `/v1${path}`, request), status);
        expect(contract.problems(method, template, as, body)).to.deep.equal([]);
      });
    }
  });

  it('detects responses that differ', () => {
    const streak = { length: 0, frequency: 'daily', started: null, periodStart: null, periodEnd: null, expires: null, extended: false };
    const event = { eventId: 'e', metricId: 'm', total: 1, achievements: [], currentStreak: streak, points: {}, leaderboards: {} };
    const problems = (body: object): string[] => contract.problems('POST', eventTemplate, 201, body);
    expect(problems(event)).to.deep.equal([]);
    expect(problems({ ...event, total: '1' })).to.deep.equal(['/total must be number']);
    expect(problems({ ...event, extra: 1 })).to.deep.equal(['/extra is not in the contract']);
    expect(problems({ ...event, currentStreak: { ...streak, mood: 1 } })).to.deep.equal(['/currentStreak/mood is not in the contract']);
  });
});
