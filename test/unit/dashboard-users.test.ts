import { expect } from 'chai';
import { nextLevel } from '../../src/shared/progress.js';
import { changesOfEvent, headerText } from '../../src/dashboard/page/screens/users/profile/event-summary.js';
import { progressOf, standingOf, type Goal } from '../../src/dashboard/page/screens/users/progress/progress.js';
import {
  cellsOf,
  countStates,
  longestOf,
  recentCells,
  runsOf,
  weekColumns,
  weekdayOf,
  type Period,
} from '../../src/dashboard/page/screens/users/streak/streak-calendar.js';
import {
  boostsSentence,
  daysOf,
  localTime,
  rangeOf,
  startOfDate,
  streakSentence,
  type Award,
  type Entry,
  type EventEntry,
} from '../../src/dashboard/page/screens/users/timeline/timeline.js';
import { changesOf, formOf } from '../../src/dashboard/page/screens/users/profile/user-edit.js';

const dayMs = 86_400_000;
const dateAt = (from: string, days: number): string => new Date(Date.parse(from) + days * dayMs).toISOString().slice(0, 10);

/** Daily periods from a date on: `e` extended, `f` covered by a freeze, `p` by a pause, `k` by a day off, `-` without a streak. */
function periods(from: string, states: string): Period[] {
  let length = 0;
  return Array.from(states, (state, at) => {
    length = state === 'e' ? length + 1 : state === '-' ? 0 : length;
    const date = dateAt(from, at);
    return { periodStart: date, periodEnd: date, length, usedFreeze: state === 'f', usedPause: state === 'p' };
  });
}

describe('The calendar of a streak', () => {
  const statesOf = (states: string): string =>
    cellsOf(periods('2026-01-01', states))
      .map(({ state }) => state)
      .join(' ');

  it('tells apart what kept a streak, what ended it and where there was none', () => {
    expect(statesOf('-eefpe--e')).to.equal('missed extended extended frozen paused extended lost missed extended');
  });

  it('does not call a period extended that a day off has kept, but one in which a reset streak starts again', () => {
    expect(statesOf('kekk-')).to.equal('missed extended kept kept open');
    const [first, second] = periods('2026-01-01', 'ee') as [Period, Period];
    const again = { ...second, length: 1, resetAt: '2026-01-02T12:00:00.000Z' };
    expect(cellsOf([first, again]).map(({ state }) => state)).to.deep.equal(['extended', 'extended']);
  });

  it('does not call the current period lost or missed while it can be extended', () => {
    expect(statesOf('e-')).to.equal('extended open');
    expect(statesOf('--')).to.equal('missed open');
  });

  it('shows whole weeks from Monday on, the current one last', () => {
    const shown = recentCells(cellsOf(periods('2025-01-01', 'e'.repeat(400))), 'daily');
    // The last day is 2026-02-04, a Wednesday: 25 weeks and three days.
    expect([shown.length, shown[0]?.start, shown.at(-1)?.start]).to.deep.equal([25 * 7 + 3, '2025-08-11', '2026-02-04']);
    const columns = weekColumns(shown);
    expect(columns.length).to.equal(26);
    expect(columns[0]?.map((cell) => (cell ? weekdayOf(cell.start) : -1))).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
    expect(columns.at(-1)?.map((cell) => cell?.start)).to.deep.equal([
      '2026-02-02',
      '2026-02-03',
      '2026-02-04',
      ...Array.from({ length: 4 }, () => undefined),
    ]);
  });

  it('shows 26 weeks of a weekly streak, a year of a monthly one, and nothing of a user without a history', () => {
    const cells = cellsOf(periods('2025-01-01', 'e'.repeat(40)));
    expect(recentCells(cells, 'weekly').length).to.equal(26);
    expect(recentCells(cells, 'monthly').length).to.equal(12);
    expect(recentCells([], 'daily')).to.deep.equal([]);
  });

  it('counts states, joins periods of the same state, and finds the longest streak', () => {
    const history = periods('2026-01-01', 'eeefe-ee');
    const cells = cellsOf(history);
    expect(countStates(cells)).to.deep.equal([
      { state: 'extended', periods: 6 },
      { state: 'frozen', periods: 1 },
      { state: 'lost', periods: 1 },
    ]);
    expect(runsOf(cells).map(({ state, start, periods: count }) => `${start} ${count} ${state}`)).to.deep.equal([
      '2026-01-07 2 extended',
      '2026-01-06 1 lost',
      '2026-01-05 1 extended',
      '2026-01-04 1 frozen',
      '2026-01-01 3 extended',
    ]);
    expect([longestOf(history), longestOf([])]).to.deep.equal([4, 0]);
  });
});

describe('The timeline of a user', () => {
  const ref = (key: string) => ({ id: key, key, name: key });
  const event = (id: string, at: string, day: string): EventEntry => ({
    type: 'event',
    id,
    at,
    day,
    metric: ref('cards'),
    value: 5,
    total: 10,
    attributes: {},
    idempotencyKey: null,
    awards: [],
  });
  const achievement = (key: string, at: string, trigger: 'metric' | 'api' | 'achievement' | 'anniversary' = 'metric'): Entry => ({
    type: 'achievement',
    at,
    achievement: { ...ref(key), badgeUrl: null, trigger },
  });
  const award: Award = {
    id: 'w',
    at: '2026-03-01T10:00:00.000Z',
    day: '2026-03-01',
    system: ref('xp'),
    trigger: null,
    awarded: 20,
    total: 30,
    boosts: [],
    eventId: null,
  };
  const shown = (entries: readonly Entry[], zone = 'UTC', isOwn = true): string[] =>
    daysOf(entries, zone, isOwn).map(({ day, streaks, items }) => {
      const rows = items.map(({ entry, achievements }) => {
        const id = entry.type === 'achievement' ? entry.achievement.key : entry.id;
        return [id, ...achievements.map((one) => one.achievement.key)].join('>');
      });
      return [day, ...streaks.map(({ how }) => how), ...rows].join(' ');
    });

  it('is grouped by local day, also where pages meet', () => {
    const first: Entry[] = [
      event('b', '2026-03-02T10:00:00.000Z', '2026-03-02'),
      { type: 'streak', date: '2026-03-02', frequency: 'daily', length: 2, how: 'extended' },
      event('a', '2026-03-01T12:00:00.000Z', '2026-03-01'),
    ];
    const second: Entry[] = [
      { ...award, type: 'award' },
      { type: 'streak', date: '2026-03-01', frequency: 'daily', length: 1, how: 'extended' },
    ];
    expect(shown([...first, ...second])).to.deep.equal(['2026-03-02 extended b', '2026-03-01 extended a w']);
  });

  it('is grouped by the days of another time zone where the operator chooses one', () => {
    const moved = [event('b', '2026-03-02T04:30:00.000Z', '2026-03-02'), event('a', '2026-03-01T23:30:00.000Z', '2026-03-02')];
    expect(shown(moved, 'Europe/Berlin')).to.deep.equal(['2026-03-02 b a']);
    expect(shown(moved, 'UTC', false)).to.deep.equal(['2026-03-02 b', '2026-03-01 a']);
    expect(shown(moved, 'America/New_York', false)).to.deep.equal(['2026-03-01 b a']);
  });

  it('puts an achievement under the event that completed it, on the local day of the user', () => {
    const at = '2026-03-01T23:30:00.000Z';
    expect(shown([achievement('first', at), event('a', at, '2026-03-02')], 'Europe/Berlin')).to.deep.equal(['2026-03-02 a>first']);
    expect(shown([achievement('called', at)], 'America/New_York')).to.deep.equal(['2026-03-01 called']);
  });

  it('does not guess which of several events of a moment completed an achievement, or whether a call did', () => {
    const at = '2026-03-01T10:00:00.000Z';
    const entries = [achievement('first', at), event('b', at, '2026-03-01'), event('a', at, '2026-03-01')];
    expect(shown(entries)).to.deep.equal(['2026-03-01 first b a']);
    const withCall = [
      achievement('all', at, 'achievement'),
      achievement('called', at, 'api'),
      achievement('first', at),
      event('a', at, '2026-03-01'),
    ];
    expect(shown(withCall)).to.deep.equal(['2026-03-01 all called a>first']);
    expect(shown([achievement('all', at, 'achievement'), event('a', at, '2026-03-01')])).to.deep.equal(['2026-03-01 a>all']);
    const withAnniversary = [achievement('all', at, 'achievement'), achievement('year', at, 'anniversary'), event('a', at, '2026-03-01')];
    expect(shown(withAnniversary)).to.deep.equal(['2026-03-01 all year a']);
  });

  it('has times of the user, and a range of whole local days, also where clocks change', () => {
    expect(localTime('2026-03-01T23:30:05.000Z', 'Asia/Tokyo')).to.equal('08:30:05');
    expect(startOfDate('2026-03-29', 'Europe/Berlin')).to.equal('2026-03-28T23:00:00.000Z');
    expect(startOfDate('2026-03-30', 'Europe/Berlin')).to.equal('2026-03-29T22:00:00.000Z');
    expect(startOfDate('2026-11-01', 'America/New_York')).to.equal('2026-11-01T04:00:00.000Z');
    expect(startOfDate('2026-11-02', 'America/New_York')).to.equal('2026-11-02T05:00:00.000Z');
    expect(rangeOf({ from: '2026-03-29', until: '2026-03-29' }, 'Europe/Berlin')).to.deep.equal({
      from: '2026-03-28T23:00:00.000Z',
      until: '2026-03-29T22:00:00.000Z',
    });
    expect(rangeOf({ from: 'soon', until: '2026-13-45' }, 'UTC')).to.deep.equal({});
  });

  it('says what kept a streak or ended it, and which boosts multiplied an award', () => {
    const streak = { type: 'streak', date: '2026-03-01', frequency: 'weekly', length: 1, how: 'freeze' } as const;
    expect(streakSentence(streak)).to.equal('A freeze kept the streak at 1 week');
    expect(streakSentence({ ...streak, frequency: 'daily', length: 2, how: 'day_off' })).to.equal('A day off kept the streak at 2 days');
    expect(streakSentence({ ...streak, length: 3, how: 'extended' })).to.equal('Streak extended to 3 weeks');
    expect(streakSentence({ ...streak, length: 0, how: 'lost' })).to.equal('Streak lost');
    const resetAt = '2026-03-01T12:00:00.000Z';
    expect(streakSentence({ ...streak, length: 0, how: 'lost', resetAt })).to.equal('Streak lost (reset by an operator)');
    const boosts = [{ id: 'b', key: null, name: 'Birthday', multiplier: 2 }];
    expect([boostsSentence(award), boostsSentence({ ...award, boosts })]).to.deep.equal([undefined, '× 2 Birthday']);
  });
});

describe('The progress of a user', () => {
  const goal: Goal = {
    id: 'g',
    key: 'goal',
    name: 'Goal',
    description: null,
    badgeUrl: null,
    trigger: 'metric',
    metricId: 'm',
    metricName: 'Cards',
    metricValue: 100,
    userAttributes: [],
    achievedAt: null,
  };
  const done: Goal = { ...goal, id: 'd', name: 'Done', achievedAt: '2026-01-01T00:00:00.000Z' };
  const standing = standingOf(
    { attributes: { city: 'Paris' }, signUpDate: '2024-02-29' },
    { achievements: [goal, done], metrics: [{ id: 'm', current: 40 }], streakLength: 3 },
  );

  it('is the share of the total, of the streak or of the completed achievements', () => {
    expect(progressOf(goal, standing)).to.deep.equal({ share: 0.4, text: '40 of 100 Cards', obstacles: [] });
    expect(progressOf({ ...goal, trigger: 'streak', streakLength: 6 }, standing)).to.include({ share: 0.5, text: 'A streak of 3 of 6' });
    expect(progressOf({ ...goal, trigger: 'achievement', achievementIds: ['d', 'g'] }, standing)).to.include({
      share: 0.5,
      text: '1 of 2 achievements; missing: Goal',
    });
    expect(progressOf({ ...goal, metricValue: 10 }, standing).share).to.equal(1);
  });

  it('is not claimed where totals do not decide', () => {
    const filtered = progressOf({ ...goal, eventAttributes: [{ key: 'device', value: 'phone' }] }, standing);
    expect(filtered).to.include({ share: null, text: '100 Cards in events with device = phone' });
    expect(progressOf({ ...goal, trigger: 'api' }, standing).share).to.equal(null);
    const anniversary: Goal = { ...goal, trigger: 'anniversary', anniversaryYears: 2 };
    expect(progressOf(anniversary, standing)).to.include({ share: null, text: '2 years after 2024-02-29' });
    const unknown = progressOf(anniversary, { ...standing, signUpDate: null });
    expect(unknown.text).to.equal('2 years after the sign-up date, which the user lacks');
  });

  it('names the attributes that stand in the way', () => {
    const userAttributes = [
      { key: 'city', value: 'Rome' },
      { key: 'plan', value: 'pro' },
    ];
    expect(progressOf({ ...goal, userAttributes }, standing).obstacles).to.deep.equal([
      'Needs city = Rome; the user has “Paris”.',
      'Needs plan = pro; the user has no value.',
    ]);
    expect(progressOf({ ...goal, userAttributes: [{ key: 'city', value: 'Paris' }] }, standing).obstacles).to.deep.equal([]);
  });

  it('to the next level counts from the level before it', () => {
    const levels = [
      { name: 'High', points: 100 },
      { name: 'Low', points: 20 },
    ];
    expect(nextLevel(levels, 40)).to.deep.equal({ level: levels[0], missing: 60, share: 0.25 });
    expect(nextLevel(levels, 10)).to.deep.equal({ level: levels[1], missing: 10, share: 0.5 });
    expect([nextLevel(levels, 100), nextLevel([], 5)]).to.deep.equal([undefined, undefined]);
  });
});

describe('What an operator does for a user', () => {
  const user = { name: 'Ana', email: null, tz: 'Europe/Lisbon', signUpDate: null, subscribeToEmails: true, attributes: { city: 'Lisbon' } };

  it('sends only the properties that were edited', () => {
    const form = formOf(user);
    expect(changesOf(user, form)).to.deep.equal({});
    expect(changesOf(user, { ...form, attributes: { ...form.attributes, plan: '' } })).to.deep.equal({});
    const edited = {
      name: 'Ana S.',
      email: 'ana@example.com',
      tz: '',
      signUpDate: '2039-12-31',
      subscribeToEmails: false,
      attributes: { city: 'Porto', plan: 'pro' },
    };
    expect(changesOf(user, edited)).to.deep.equal({ ...edited, tz: null });
    expect(changesOf(user, { ...form, attributes: { city: 'Lisbon', plan: 'pro' } })).to.deep.equal({ attributes: { plan: 'pro' } });
  });

  it('says everything that a test event changed', () => {
    // Only what the sentences are made of.
    const event = {
      total: 1_205,
      achievements: [{ name: 'First' }],
      currentStreak: { length: 4, extended: true },
      points: { xp: { name: 'XP', added: 20, total: 120, level: { name: 'Low' } }, hp: { name: 'HP', added: -5, total: 0, level: null } },
      leaderboards: { top: { name: 'Top', rank: 2, previousRank: null } },
    } as unknown as Parameters<typeof changesOfEvent>[0];
    expect(changesOfEvent(event)).to.deep.equal([
      'The total is now 1,205.',
      'XP: +20, now 120.',
      'XP: the level is now Low.',
      'HP: -5, now 0.',
      'HP: no level any more.',
      'Completed the achievement “First”.',
      'The streak is extended to 4.',
      'Top: rank 2, before: no rank.',
    ]);
    const replayed = { ...event, idempotentReplayed: true };
    expect(changesOfEvent(replayed)).to.deep.equal([
      'The idempotency key has been used before: nothing was counted.',
      'The total is 1,205.',
    ]);
  });

  it('sends an idempotency key as the bytes of its UTF-8', () => {
    expect([headerText('order-7%'), headerText('é')]).to.deep.equal(['order-7%', 'Ã©']);
  });
});
