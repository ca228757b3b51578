import { expect } from 'chai';
import fc from 'fast-check';
import type { ConfigDocument } from '../../src/config/schema/model.js';
import { historyArbitrary } from '../support/model/arbitraries.js';
import { add, amount, boosted, multiples, shown } from '../support/model/decimal.js';
import { baseMs, buildDocument, type DocumentSpec } from '../support/model/documents.js';
import { printHistory, runHistory, type History, type Step } from '../support/model/history.js';
import { Model } from '../support/model/index.js';
import { resolveJump, type Jump } from '../support/model/jumps.js';
import { moment, zoneNamed } from '../support/model/examples.js';
import { settle } from '../support/model/settle.js';
import { normalise, type EventRequest } from '../support/model/subject.js';
import { dateOf, dayOf, localDay, periodOf, startOfDay } from '../support/model/time.js';
import { newUser } from '../support/model/users.js';
import type { Answer, World } from '../support/model/world.js';

describe('The model: time', () => {
  describe('A local day', () => {
    const rows: readonly (readonly [when: string, zone: string, date: string])[] = [
      ['01-03 09:59:59.999', 'HI', '2040-01-02'],
      ['01-03 10:00', 'HI', '2040-01-03'],
      ['01-03 11:00', 'NZ', '2040-01-04'],
      ['07-03 11:59:59.999', 'NZ', '2040-07-03'],
      ['07-03 12:00', 'NZ', '2040-07-04'],
      ['01-03 18:14:59.999', 'KT', '2040-01-03'],
      ['01-03 18:15', 'KT', '2040-01-04'],
      ['01-03 10:00', 'KI', '2040-01-04'],
      ['01-03 11:59:59.999', 'BK', '2040-01-02'],
      ['02-29 23:59:59.999', 'UTC', '2040-02-29'],
      ['2040-12-31 11:00', 'NZ', '2041-01-01'],
    ];
    for (const [when, zone, date] of rows) {
      it(`${when} UTC is on ${date} in ${zone}`, () => {
        expect(dateOf(localDay(zoneNamed(zone), moment(when)))).to.equal(date);
      });
    }
  });

  describe('The start of a local day', () => {
    const rows: readonly (readonly [date: string, zone: string, utc: string])[] = [
      ['2040-01-03', 'UTC', '2040-01-03T00:00:00.000Z'],
      ['2040-01-03', 'KT', '2040-01-02T18:15:00.000Z'],
      ['2040-03-11', 'NY', '2040-03-11T05:00:00.000Z'],
      ['2040-03-12', 'NY', '2040-03-12T04:00:00.000Z'],
      ['2040-11-05', 'NY', '2040-11-05T05:00:00.000Z'],
      // The clock goes from 24:00 to 01:00, and in autumn from 24:00 back to 23:00.
      ['2040-09-02', 'SA', '2040-09-02T04:00:00.000Z'],
      ['2040-04-08', 'SA', '2040-04-08T04:00:00.000Z'],
    ];
    for (const [date, zone, utc] of rows) {
      it(`${date} begins at ${utc} in ${zone}`, () => {
        expect(new Date(startOfDay(zoneNamed(zone), dayOf(date))).toISOString()).to.equal(utc);
      });
    }
  });

  it('periods are days, weeks from Monday or Sunday, and months', () => {
    const numbers = (date: string): number[] => [
      periodOf('weekly', dayOf(date), { start: 'monday' }),
      periodOf('weekly', dayOf(date), { start: 'sunday' }),
      periodOf('monthly', dayOf(date), { start: 'monday' }),
    ];
    expect(numbers('1970-01-01')).to.deep.equal([0, 0, 0]);
    expect(numbers('1970-01-04'), 'the first Sunday').to.deep.equal([0, 1, 0]);
    expect(numbers('1970-01-05'), 'the first Monday').to.deep.equal([1, 1, 0]);
    expect(numbers('1969-12-28'), 'the Sunday before').to.deep.equal([-1, 0, -1]);
    expect(numbers('2040-02-29')[2]).to.equal(12 * 70 + 1);
  });

  const jumps: readonly (readonly [jump: Jump, from: string, to: string])[] = [
    [{ by: 1000 }, '01-02 12:00', '2040-01-02T12:00:01.000Z'],
    [{ to: 'midnight', zone: 'Asia/Kathmandu', offsetMs: -1 }, '01-02 12:00', '2040-01-02T18:14:59.999Z'],
    [{ to: 'noon', offsetMs: 0 }, '01-02 12:00', '2040-01-03T12:00:00.000Z'],
    [{ to: 'noon', offsetMs: 0 }, '01-02 11:59', '2040-01-02T12:00:00.000Z'],
    [{ to: 'clockChange', zone: 'America/New_York', offsetMs: 0 }, '01-02 12:00', '2040-03-11T07:00:00.000Z'],
    [{ to: 'clockChange', zone: 'Pacific/Auckland', offsetMs: -1 }, '01-02 12:00', '2040-03-31T13:59:59.999Z'],
    [{ to: 'clockChange', zone: 'UTC', offsetMs: 0 }, '01-02 12:00', '2040-01-03T00:00:00.000Z'],
    [{ to: 'date', date: '02-29', zone: 'UTC', offsetMs: 5 }, '01-02 12:00', '2040-02-29T00:00:00.005Z'],
    [{ to: 'date', date: '02-29', zone: 'UTC', offsetMs: 0 }, '03-02 12:00', '2040-03-03T00:00:00.000Z'],
    [{ to: 'midnight', zone: 'UTC', offsetMs: -86_400_000 }, '01-02 12:00', '2040-01-02T12:00:00.000Z'],
  ];
  for (const [jump, from, to] of jumps) {
    it(`a history jumps from ${from} to ${to}: ${JSON.stringify(jump)}`, () => {
      expect(new Date(resolveJump(jump, moment(from))).toISOString()).to.equal(to);
    });
  }
});

describe('The model: numbers', () => {
  it('are what their decimal text says', () => {
    for (const number of [0, 1, -2.5, 0.1, 1e-7, 1.5e21, 123456789.012345, 1e15]) expect(shown(amount(number))).to.equal(number);
    expect(amount(0.1) + amount(0.2)).to.equal(amount(0.3));
  });

  it('are rounded to 15 significant digits after an addition', () => {
    const ten = Array.from({ length: 10 }, () => amount(0.1)).reduce(add, 0n);
    expect(shown(ten)).to.equal(1);
    expect(shown(add(amount(1e14), amount(0.04)))).to.equal(1e14);
    expect(shown(add(amount(1e14), amount(0.05)))).to.equal(100000000000000);
    expect(shown(add(amount(1e14), amount(0.5)))).to.equal(100000000000001);
    expect(shown(add(amount(-1e14), amount(-0.5)))).to.equal(-100000000000001);
  });

  it('multiples and boosts are exact', () => {
    expect([multiples(amount(0.3), 1), multiples(amount(29.999), 5), multiples(amount(30), 5)]).to.deep.equal([0, 5, 6]);
    expect([boosted(10, [1.1], 'up'), boosted(7, [1.333333, 3], 'up'), boosted(1, [0.1, 0.1], 'up')]).to.deep.equal([11, 28, 1]);
    expect([boosted(5, [1.1], 'nearest'), boosted(4, [1.1], 'nearest'), boosted(9, [1.1, 1.1], 'down')]).to.deep.equal([6, 4, 10]);
  });
});

describe('The model’s users and events', () => {
  it('change only in what is sent, and `updated` moves only with a change', () => {
    const model = new Model(buildDocument({ metrics: 1 }), baseMs);
    model.identify('create', 'ana', { name: 'Ana', tz: 'Asia/Kathmandu', attributes: { city: 'Nuuk' } });
    model.setNow(moment('01-03 12:00'));
    model.identify('upsert', 'ana', { name: 'Ana' });
    const profile = {
      id: 'ana',
      email: null,
      name: 'Ana',
      tz: 'Asia/Kathmandu',
      signUpDate: null,
      deviceTokens: null,
      subscribeToEmails: true,
      control: false,
    };
    const created = '2040-01-02T12:00:00.000Z';
    expect(model.user('ana').body).to.deep.equal({ ...profile, attributes: { city: 'Nuuk' }, created, updated: created });
    model.identify('upsert', 'ana', { tz: null, attributes: { plan: 'pro' } });
    expect(model.user('ana').body).to.deep.include({
      tz: null,
      attributes: { city: 'Nuuk', plan: 'pro' },
      updated: '2040-01-03T12:00:00.000Z',
    });
  });

  it('are refused with the contract’s statuses', () => {
    const model = new Model(buildDocument({ metrics: 1 }), baseMs);
    const rows: readonly (readonly [Answer, number])[] = [
      [model.identify('update', 'ana', {}), 404],
      [model.identify('create', 'ana', {}), 201],
      [model.identify('create', 'ana', {}), 422],
      [model.identify('upsert', 'ana', { tz: '+02:00' }), 422],
      [model.identify('upsert', 'ana', { attributes: { nope: 'x' } }), 422],
      [model.identify('upsert', 'ana', { subscribeToEmails: true }), 422],
      [model.identify('upsert', 'ana', { subscribeToEmails: true, email: 'a@example.com' }), 200],
      [model.event({ metricKey: 'm9', user: { id: 'ana' }, value: 1 }), 404],
      [model.event({ metricKey: 'm1', user: { id: 'ana' }, value: 1, attributes: { city: 'Nuuk' } }), 422],
      [model.event({ metricKey: 'm1', user: { id: 'ana' }, value: 2e15 }), 422],
      [model.event({ metricKey: 'm1', user: { id: 'ana' }, value: 1e15 }), 201],
      [model.event({ metricKey: 'm1', user: { id: 'ana' }, value: 10 }), 422],
      [model.user('bo'), 404],
      [model.points('ana', 'p1', 10), 404],
    ];
    expect(rows.map(([{ status }]) => status)).to.deep.equal(rows.map(([, status]) => status));
  });
});

/** A model with a fault. */
class Faulty extends Model {
  override event(request: EventRequest): Answer {
    return super.event({ ...request, value: request.value === 7 ? 8 : request.value });
  }
}

const seeded = { seed: 20400102, numRuns: 40 };

describe('The model: histories', () => {
  const spec: DocumentSpec = { metrics: 1, boards: [{ rankBy: { metric: 'm1' } }] };
  const event = (value: number): Step => ({ do: 'event', metricKey: 'm1', user: { id: 'u1' }, value });

  it('a difference is told with its step, and where it is', async () => {
    const config = buildDocument(spec);
    const history: History = { config, steps: [event(1), event(7)] };
    const failure = await runHistory(history, new Model(config, baseMs), new Faulty(config, baseMs)).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );
    expect(failure)
      .to.match(/^step 1: .*"value":7/)
      .and.to.contain('body.total: model 8, subject 9');
  });

  it('a difference shrinks to the steps that it needs', async () => {
    const property = fc.asyncProperty(historyArbitrary({ maxSteps: 40 }), (history: History) =>
      runHistory(history, new Model(history.config, baseMs), new Faulty(history.config, baseMs)),
    );
    const { failed, counterexample } = await fc.check(property, { ...seeded, numRuns: 200 });
    expect(failed).to.equal(true);
    expect(counterexample![0].steps, printHistory(counterexample![0])).to.have.lengthOf.at.most(2);
  });

  it('normalise drops what each side makes up for itself, and nothing else', () => {
    const body = {
      eventId: 'e',
      metricId: 'm',
      points: { p: { id: 'p', awards: [{ id: 'a', trigger: { id: 't' } }] } },
      pauses: [{ id: 'x', start: 's' }],
    };
    expect(normalise(body)).to.deep.equal({
      metricId: 'm',
      points: { p: { id: 'p', awards: [{ trigger: { id: 't' } }] } },
      pauses: [{ start: 's' }],
    });
  });
});

describe('The model: settling', () => {
  const config: ConfigDocument = buildDocument({
    metrics: 1,
    streaks: { conditions: { m1: 1 }, freezes: { initial: 1, maximum: 2, earnInterval: 3, earnAmount: 1 } },
    systems: [
      {
        maxPoints: 60,
        triggers: [
          { type: 'time', unit: 'hours', interval: 7, points: 5 },
          { type: 'time', unit: 'days', interval: 2, points: -4 },
        ],
      },
    ],
  });

  it('gives the same result late and in one go as at every moment', () => {
    const zone = fc.constantFrom('Pacific/Auckland', 'Pacific/Honolulu', 'Asia/Kathmandu', 'America/New_York', 'America/Santiago');
    const property = fc.property(
      zone,
      fc.integer({ min: 0, max: 300 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 }),
      (tz, startDay, gaps) => {
        const from = baseMs + startDay * 86_400_000;
        const state = (moments: readonly number[]): unknown => {
          const world: World = { config, now: from, sequence: 0, users: new Map(), boards: new Map(), events: new Map() };
          const user = { ...newUser(world, 'ana', tz), tz };
          Object.assign(user.streaks.daily, { length: 3, started: user.day - 2, last: user.day });
          for (const at of moments) settle(world, user, at);
          const { day, settledAt, freezes, freezesThrough, points, streaks } = user;
          return { day, settledAt, freezes, freezesThrough, points, streaks };
        };
        const stops = gaps.map((_, index) => from + gaps.slice(0, index + 1).reduce((sum, gap) => sum + gap, 0) * 3_600_000);
        expect(state(stops)).to.deep.equal(state(stops.slice(-1)));
      },
    );
    fc.assert(property, seeded);
  });

  it('fills a streak leaderboard at its start, also when the frequency has changed before', () => {
    const document = buildDocument({ metrics: 1, streaks: { conditions: { m1: 1 } }, boards: [{ rankBy: 'streak', start: '2040-01-09' }] });
    const model = new Model(document, baseMs);
    model.configure({ ...document, streaks: { ...document.streaks, frequency: 'weekly' } });
    model.event({ metricKey: 'm1', user: { id: 'ana' }, value: 1 });
    model.setNow(baseMs + 8 * 86_400_000);
    expect(model.userLeaderboard('ana', 'b1').body).to.include({ rank: 1, value: 1 });
  });
});
