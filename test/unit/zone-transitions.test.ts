import { expect } from 'chai';
import { dateToDay, dayToDate } from '../../src/shared/calendar.js';
import { zoneTransitions, type CalendarKind } from '../../src/webhooks/zone-transitions.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { after as applied } from '../support/config.js';

/** When the configuration was made. */
const configuredAt = Date.parse('2040-01-10T12:00:00Z');
const ms = (at: string): number => Date.parse(`2040-${at}Z`);

/** A board or a boost, and what is told of it at a moment, given the day of each kind that was told last. */
type Row = readonly [what: string, object: object, told: Partial<Record<CalendarKind, string>>, now: string, tells: readonly string[]];

const started = 'leaderboard.started' as const;
const begun = 'points.boost_started' as const;
const over = 'points.boost_finished' as const;

const boards: readonly Row[] = [
  ['a board before its first day', { start: '2040-01-12' }, {}, '01-11T23:59:59.999', []],
  ['a board on its first day', { start: '2040-01-12' }, {}, '01-12T00:00', ['2040-01-12 at 2040-01-12T00:00:00.000Z']],
  ['a leaderboard without a worker for days', { start: '2040-01-12' }, {}, '01-20T00:00', ['2040-01-12 at 2040-01-12T00:00:00.000Z']],
  ['a board that was told', { start: '2040-01-12' }, { [started]: '2040-01-12' }, '01-20T00:00', []],
  [
    'a board whose first day was before it was configured',
    { start: '2039-12-01' },
    {},
    '01-11T00:00',
    ['2039-12-01 at 2040-01-10T12:00:00.000Z'],
  ],
  ['a board that was over when it was configured', { start: '2039-12-01', end: '2040-01-09' }, {}, '01-11T00:00', []],
  [
    'a leaderboard that began and ended without a worker',
    { start: '2040-01-12', end: '2040-01-13' },
    {},
    '01-20T00:00',
    ['2040-01-12 at 2040-01-12T00:00:00.000Z'],
  ],
  ['an inactive board', { start: '2040-01-12', status: 'inactive' }, {}, '01-20T00:00', []],
  [
    'the run on the day of the configuration',
    { start: '2039-12-01', runUnit: 'day', runInterval: 7 },
    {},
    '01-11T00:00',
    ['2040-01-05 at 2040-01-10T12:00:00.000Z'],
  ],
  [
    'the runs since one that was told',
    { start: '2039-12-01', runUnit: 'day', runInterval: 7 },
    { [started]: '2040-01-05' },
    '01-26T00:00',
    ['2040-01-12 at 2040-01-12T00:00:00.000Z', '2040-01-19 at 2040-01-19T00:00:00.000Z', '2040-01-26 at 2040-01-26T00:00:00.000Z'],
  ],
  [
    'no run after the end',
    { start: '2039-12-01', end: '2040-01-20', runUnit: 'month', runInterval: 1 },
    { [started]: '2040-01-01' },
    '03-01T00:00',
    [],
  ],
];

const boosts: readonly Row[] = [
  ['a boost before its first day', { start: '2040-01-12' }, {}, '01-11T23:59:59.999', []],
  ['a boost on its first day', { start: '2040-01-12' }, {}, '01-12T08:00', ['started 2040-01-12 at 2040-01-12T00:00:00.000Z']],
  [
    'a boost that has begun when it is configured',
    { start: '2040-01-01' },
    {},
    '01-10T12:00',
    ['started 2040-01-01 at 2040-01-10T12:00:00.000Z'],
  ],
  ['a boost on its last day', { start: '2040-01-01', end: '2040-01-11' }, { [begun]: '2040-01-01' }, '01-11T23:59:59.999', []],
  [
    'a boost after its last day',
    { start: '2040-01-01', end: '2040-01-11' },
    { [begun]: '2040-01-01' },
    '01-12T00:00',
    ['finished 2040-01-11 at 2040-01-12T00:00:00.000Z'],
  ],
  [
    'a boost that was told to be over',
    { start: '2040-01-01', end: '2040-01-11' },
    { [begun]: '2040-01-01', [over]: '2040-01-11' },
    '01-20T00:00',
    [],
  ],
  [
    'a boost that is prolonged',
    { start: '2040-01-01', end: '2040-01-15' },
    { [begun]: '2040-01-01', [over]: '2040-01-11' },
    '01-20T00:00',
    ['started 2040-01-01 at 2040-01-10T12:00:00.000Z', 'finished 2040-01-15 at 2040-01-16T00:00:00.000Z'],
  ],
  [
    'a boost that is prolonged after its end, while it runs',
    { start: '2040-01-01', end: '2040-01-15' },
    { [begun]: '2040-01-01', [over]: '2040-01-09' },
    '01-12T00:00',
    ['started 2040-01-01 at 2040-01-10T12:00:00.000Z'],
  ],
  ['a boost that is prolonged before its end', { start: '2040-01-01', end: '2040-01-15' }, { [begun]: '2040-01-01' }, '01-12T00:00', []],
  [
    'a boost whose end is moved into the past',
    { start: '2040-01-01', end: '2040-01-05' },
    { [begun]: '2040-01-01' },
    '01-10T12:00',
    ['finished 2040-01-05 at 2040-01-10T12:00:00.000Z'],
  ],
  ['a boost whose start is moved, but not into the future', { start: '2040-01-05' }, { [begun]: '2040-01-01' }, '01-11T00:00', []],
  [
    'a boost whose start is moved into the future',
    { start: '2040-01-15' },
    { [begun]: '2040-01-01' },
    '01-10T12:00',
    ['finished 2040-01-10 at 2040-01-10T12:00:00.000Z'],
  ],
  [
    'a boost whose start was moved into the future, on that day',
    { start: '2040-01-15' },
    { [begun]: '2040-01-01', [over]: '2040-01-10' },
    '01-15T08:00',
    ['started 2040-01-15 at 2040-01-15T00:00:00.000Z'],
  ],
  [
    'a boost that returns with the same days',
    { start: '2040-01-01', end: '2040-01-12' },
    { [begun]: '2040-01-01', [over]: '2040-01-10' },
    '01-10T13:00',
    ['started 2040-01-01 at 2040-01-10T12:00:00.000Z'],
  ],
  [
    'a boost that returns on its last day',
    { start: '2040-01-01', end: '2040-01-10' },
    { [begun]: '2040-01-01', [over]: '2040-01-10' },
    '01-10T13:00',
    ['started 2040-01-01 at 2040-01-10T12:00:00.000Z'],
  ],
  [
    'a boost that returned and ended without a worker',
    { start: '2040-01-01', end: '2040-01-12' },
    { [begun]: '2040-01-01', [over]: '2040-01-10' },
    '01-20T00:00',
    ['started 2040-01-01 at 2040-01-10T12:00:00.000Z', 'finished 2040-01-12 at 2040-01-13T00:00:00.000Z'],
  ],
  [
    'a boost that returns after its last day',
    { start: '2040-01-01', end: '2040-01-09' },
    { [begun]: '2040-01-01', [over]: '2040-01-05' },
    '01-10T12:00',
    [],
  ],
  [
    'a boost whose points system is archived',
    { start: '2040-01-01', systemArchived: true },
    { [begun]: '2040-01-01' },
    '01-11T00:00',
    ['finished 2040-01-10 at 2040-01-10T12:00:00.000Z'],
  ],
  [
    'a boost that ended before it was deleted, without a worker',
    { start: '2040-01-01', end: '2040-01-05', archived: true },
    { [begun]: '2040-01-01' },
    '01-11T00:00',
    ['finished 2040-01-05 at 2040-01-06T00:00:00.000Z'],
  ],
  [
    'a boost that begins again',
    { start: '2040-01-13', end: '2040-01-15' },
    { [begun]: '2040-01-01', [over]: '2040-01-11' },
    '01-14T00:00',
    ['started 2040-01-13 at 2040-01-13T00:00:00.000Z'],
  ],
  [
    'a boost that began and ended without a worker',
    { start: '2040-01-12', end: '2040-01-12' },
    {},
    '01-20T00:00',
    ['started 2040-01-12 at 2040-01-12T00:00:00.000Z', 'finished 2040-01-12 at 2040-01-13T00:00:00.000Z'],
  ],
  ['a boost that was over when it was configured', { start: '2040-01-01', end: '2040-01-09' }, {}, '01-20T00:00', []],
  [
    'a boost that is deleted while it runs',
    { start: '2040-01-01', archived: true },
    { [begun]: '2040-01-01' },
    '01-10T12:00',
    ['finished 2040-01-10 at 2040-01-10T12:00:00.000Z'],
  ],
  ['a boost that is deleted before it runs', { start: '2040-01-12', archived: true }, {}, '01-20T00:00', []],
  [
    'a boost that is deleted when it was over',
    { start: '2040-01-01', end: '2040-01-05', archived: true },
    { [begun]: '2040-01-01', [over]: '2040-01-05' },
    '01-10T12:00',
    [],
  ],
];

function configOf(
  kind: 'board' | 'boost',
  { archived, systemArchived, ...object }: { readonly archived?: boolean; readonly systemArchived?: boolean },
): ActiveConfig {
  const board = { key: 'b', name: 'B', status: 'active', rankBy: 'metric', metricKey: 'm', ...object };
  const points = { key: 'p', name: 'P', boosts: [{ key: 'b', name: 'B', multiplier: 2, ...object }] };
  const text = JSON.stringify({
    metrics: [{ key: 'm', name: 'M' }],
    ...(kind === 'board' ? { leaderboards: [board] } : { points: [points] }),
  });
  const document = applied(text);
  const updated = new Date(configuredAt).toISOString();
  return new ActiveConfig({
    tenant: 1,
    version: 1,
    document: {
      ...document,
      leaderboards: document.leaderboards.map((each) => ({ ...each, updated })),
      pointsSystems: document.pointsSystems.map((system) => ({
        ...system,
        updated,
        archived: systemArchived === true,
        boosts: system.boosts.map((boost) => ({ ...boost, updated, archived: archived === true })),
      })),
    },
  });
}

describe('Calendar transitions', () => {
  for (const [kind, rows] of [
    ['board', boards],
    ['boost', boosts],
  ] as const) {
    for (const [what, object, told, now, tells] of rows) {
      it(`of ${what} announce ${tells.length === 0 ? 'nothing' : tells.join(', ')}`, () => {
        const dayTold = (of: CalendarKind): number | undefined => (told[of] === undefined ? undefined : dateToDay(told[of]));
        const points = zoneTransitions(configOf(kind, object), dayTold, ms(now));
        const shown = points.map(({ kind: of, day, at }) =>
          `${of.replace(/.*(_|board\.started)/, '')} ${dayToDate(day)} at ${new Date(at).toISOString()}`.trim(),
        );
        expect(shown).to.deep.equal(tells);
      });
    }
  }
});
