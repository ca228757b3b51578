import { expect } from 'chai';
import { track } from '../support/answers.js';
import { type Boost, boostConfig } from '../support/boosts.js';
import { startWorld, type World } from '../support/world.js';

describe('The window of a boost', () => {
  // Three dates at once: 10:30 UTC is 23:30 of the day before in Pago Pago, and 00:30 of the day after on Kiritimati.
  const now = '2040-01-02T10:30:00.000Z';
  const zones = ['Pacific/Pago_Pago', 'UTC', 'Pacific/Kiritimati'] as const;
  /** First and last day, and whether it applies where it is 1, 2 and 3 January. */
  const windows: readonly (readonly [
    what: string,
    start: string,
    end: string | undefined,
    first: boolean,
    second: boolean,
    third: boolean,
  ])[] = [
    ['a day that is over almost everywhere', '2040-01-01', '2040-01-01', true, false, false],
    ['a single day, its first and last', '2040-01-02', '2040-01-02', false, true, false],
    ['a day that has begun nowhere else', '2040-01-03', '2040-01-03', false, false, true],
    ['from its first day on', '2040-01-02', undefined, false, true, true],
    ['up to its last day', '2039-12-01', '2040-01-02', true, true, false],
    ['several days', '2040-01-01', '2040-01-03', true, true, true],
    ['without an end', '2020-01-01', undefined, true, true, true],
    ['scheduled', '2040-01-04', undefined, false, false, false],
    ['finished', '2039-01-01', '2039-12-31', false, false, false],
  ];
  const weekend = { start: '2040-01-10', end: '2040-01-11' };
  let world: World;
  before(async () => {
    const rows = windows.map(
      ([, start, end], i) => [`w${i}`, [10, [{ multiplier: 2, start, ...(end === undefined ? {} : { end }) }]]] as const,
    );
    const days: readonly Boost[] = [
      { multiplier: 2, ...weekend },
      { multiplier: 2, start: '2040-03-12', end: '2040-03-12' },
      { multiplier: 2, start: '2040-10-26', end: '2040-10-26' },
      { multiplier: 2, start: '2040-11-05', end: '2040-11-05' },
      { multiplier: 2, start: '2043-07-01', end: '2043-07-01' },
    ];
    world = await startWorld({ config: boostConfig({ ...Object.fromEntries(rows), days: [10, days] }), now });
  });
  after(() => world.stop());

  describe('is one of local days:', () => {
    for (const [i, [what, start, end, ...applies]] of windows.entries()) {
      it(`${what} (${start} to ${end ?? '…'})`, async () => {
        const earned: (number | undefined)[] = [];
        for (const tz of zones) earned.push((await track(world, `w${i}`, { user: { id: tz, tz }, value: 1 })).points[`w${i}`]?.added);
        expect(earned).to.deep.equal(applies.map((yes) => (yes ? 20 : 10)));
      });
    }

    it('those of UTC for a user without a time zone', async () => {
      expect((await track(world, 'w1', { user: 'nowhere', value: 1 })).points['w1']?.added).to.equal(20);
    });

    it('those of the time zone that the event itself brings', async () => {
      await track(world, 'w1', { user: { id: 'traveller', tz: 'Pacific/Kiritimati' }, value: 0 });
      expect((await track(world, 'w1', { user: { id: 'traveller', tz: 'UTC' }, value: 1 })).points['w1']?.added).to.equal(20);
      expect((await track(world, 'w1', { user: { id: 'traveller', tz: 'Pacific/Pago_Pago' }, value: 1 })).points['w1']?.added).to.equal(10);
      expect((await track(world, 'w1', { user: { id: 'traveller', tz: null }, value: 1 })).points['w1']?.added).to.equal(20);
    });
  });

  describe('opens and closes at the user’s midnight:', () => {
    const york = 'America/New_York';
    /** In the order of the clock, which only goes forward. */
    const moments: readonly (readonly [when: string, tz: string, what: string, boosted: boolean])[] = [
      ['2040-01-10T04:59:59.999Z', york, 'the last millisecond before the first day', false],
      ['2040-01-10T05:00:00.000Z', york, 'the first of the first day', true],
      ['2040-01-12T04:59:59.999Z', york, 'the last of the last day', true],
      ['2040-01-12T05:00:00.000Z', york, 'the first after the last day', false],
      ['2040-03-12T03:59:59.999Z', york, 'just before midnight, with the clocks just put forward', false],
      ['2040-03-12T04:00:00.000Z', york, 'midnight, with the clocks just put forward', true],
      // In Cairo the clocks are put back at midnight, so that the last hour of the day comes twice.
      ['2040-10-25T20:59:59.999Z', 'Africa/Cairo', 'before an hour comes again', false],
      ['2040-10-25T21:00:00.000Z', 'Africa/Cairo', 'at the start of that hour', false],
      ['2040-10-25T22:00:00.000Z', 'Africa/Cairo', 'after that hour', true],
      ['2040-11-05T04:59:59.999Z', york, 'just before midnight, with the clocks just put back', false],
      ['2040-11-05T05:00:00.000Z', york, 'midnight, with the clocks just put back', true],
      ['2043-07-01T03:59:59.999Z', york, 'just before midnight, years after the zone was first used', false],
      ['2043-07-01T04:00:00.000Z', york, 'midnight, years after the zone was first used', true],
    ];
    for (const [when, tz, what, boosted] of moments) {
      it(`${what} in ${tz} (${when})`, async () => {
        await world.setClock(when);
        const { points } = await track(world, 'days', { user: { id: tz, tz }, value: 1 });
        expect(points['days']?.added).to.equal(boosted ? 20 : 10);
      });
    }
  });
});
