/**
 * Three users live through a year (test/support/year.ts): daily events with gaps, freezes, a pause, three moves between zones each, and the
 * clock changes of Auckland, New York and Lisbon. The plan says what becomes of each day; the lengths are counted from it here.
 *
 * `SHOW_HISTORY=1 npx mocha test/long/year.test.ts` prints the streak of each user, day by day, as the API tells it.
 */
import { expect } from 'chai';
import { DateTime } from 'luxon';
import { bodyOf, configText, read, track } from '../support/answers.js';
import { moment, zoneNamed } from '../support/model/examples.js';
import { startWorld, type World } from '../support/world.js';
import { lives, times, type Day, type Life } from '../support/year.js';

const config = configText({
  metrics: [{ key: 'lessons', name: 'Lessons' }],
  streaks: {
    enabled: true,
    frequency: 'daily',
    metrics: [{ metricKey: 'lessons', threshold: 1 }],
    freezes: { initial: 2, maximum: 3, earnInterval: 60, earnAmount: 1 },
  },
});

interface HistoryItem {
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly length: number;
  readonly usedFreeze: boolean;
  readonly usedPause: boolean;
}

interface Streak {
  readonly length: number;
  readonly freezes: number;
  readonly started: string | null;
  readonly periodStart: string | null;
  readonly expires: string | null;
  readonly streakHistory: readonly HistoryItem[];
}

/** A date of the plan: of 2040 if it names no year. */
const dated = (date: string): string => (date.length > 5 ? date : `2040-${date}`);
const plus = (date: string, days: number): string => DateTime.fromISO(date, { zone: 'utc' }).plus({ days }).toFormat('yyyy-MM-dd');

/** The days of a plan, one after the other. */
function daysOf({ days }: Life): { date: string; day: Day }[] {
  return days.flatMap((row) => {
    const [first = '', ...weeks] = row.split(' ');
    return Array.from(weeks.join(''), (day, i) => ({ date: plus(dated(first), i), day: day as Day }));
  });
}

/** The history that a plan leads to. */
function expectedHistory(life: Life): HistoryItem[] {
  let length = 0;
  let lost = 0;
  return daysOf(life).map(({ date, day }) => {
    if (day === 'R') length = lost;
    if (day === '.' && length > 0) [lost, length] = [length, 0];
    if (day === 'x' || day === 'R') length += 1;
    return { periodStart: date, periodEnd: date, length, usedFreeze: day === 'f', usedPause: day === 'p' };
  });
}

interface Deed {
  readonly at: number;
  readonly what: string;
  act(world: World): Promise<void>;
}

const streakOf = (world: World, user: string, periods: number): Promise<Streak> =>
  read(world, `/v1/users/${user}/streak?historyPeriods=${periods}`);

/** The event of each day that has one, from where the user lives on it. */
function events(life: Life): Deed[] {
  return daysOf(life).flatMap(({ date, day }, i): Deed[] => {
    if (day !== 'x' && day !== 'R') return [];
    const [, zone = ''] = life.homes.findLast(([from]) => dated(from) <= date) ?? [];
    const when = `${date} ${times[i % 7]} ${zone}`;
    return [{ at: moment(when), what: when, act: (world) => send(world, { id: life.user, tz: zoneNamed(zone) }, true) }];
  });
}

async function send(world: World, user: { readonly id: string; readonly tz?: string }, extends_: boolean): Promise<void> {
  const { currentStreak } = await track(world, 'lessons', { user, value: 1 });
  expect(currentStreak).to.include({ extended: extends_ });
}

async function happen(world: World, user: string, what: string): Promise<void> {
  const [verb, first = '', second = '', third = ''] = what.split(' ');
  const admin = async (path: string, body: object): Promise<void> => {
    expect(bodyOf(await world.request('POST', `/admin/v1/streaks/${path}`, { body }), 201)).to.deep.include({ issues: [] });
  };
  switch (verb) {
    case 'again':
      return send(world, { id: user }, false);
    case 'moves':
      bodyOf(await world.request('PATCH', `/v1/users/${user}`, { body: { tz: zoneNamed(second) } }), 200);
      return;
    case 'pauses':
      return admin('pauses', { pauses: [{ userId: user, start: dated(first), end: dated(third) }] });
    case 'gets':
      return admin('freezes', { freezes: [{ userId: user }] });
    case 'restores': {
      const reply = await world.request('POST', '/admin/v1/streaks/restore', { body: { users: [{ id: user }] } });
      expect((reply.body as { restoredUsers: string[] }).restoredUsers).to.deep.equal([user]);
      return;
    }
    default:
      throw new Error(`no action is written like ${user} ${what}`);
  }
}

function looks({ user, seen }: Life): Deed[] {
  return seen.map(([when, length, freezes, expires, started]) => ({
    at: moment(when),
    what: when,
    act: async (world) => {
      const streak = await streakOf(world, user, 1);
      expect(streak).to.include({ length, freezes, expires: expires === null ? null : dated(expires) });
      if (started !== undefined) expect(streak.started).to.equal(dated(started));
      if (length === 0) expect(streak).to.include({ started: null, periodStart: null });
    },
  }));
}

/** Everything of a life but its end, in the order of time; what is looked at comes after what happens at the same moment. */
const deedsOf = (life: Life): Deed[] => [
  ...events(life),
  ...life.happens.map(([when, what]) => ({
    at: moment(when),
    what: `${when} ${what}`,
    act: (world: World) => happen(world, life.user, what),
  })),
  ...looks(life),
];

/** The history as a table: a row for each week, with the length after each day, and what has covered it. */
function table(user: string, history: readonly HistoryItem[]): string {
  const cell = ({ length, usedFreeze, usedPause }: HistoryItem): string =>
    `${length === 0 ? '.' : length}${usedFreeze ? 'f' : usedPause ? 'p' : ' '}`.padStart(6);
  const rows = history.flatMap((_, i) => (i % 7 === 0 ? [history.slice(i, i + 7)] : []));
  const head = `${user.padEnd(10)}${['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].map((day) => `${day} `.padStart(6)).join('')}`;
  return [head, ...rows.map((week) => `${week[0]?.periodStart ?? ''}${week.map(cell).join('')}`)].join('\n');
}

describe('A year of three users, in three zones and then in others', () => {
  let world: World;
  const histories = new Map<string, readonly HistoryItem[]>();
  before(async () => {
    world = await startWorld({ config, now: '2040-01-01T00:00:00.000Z' });
  });
  after(() => world.stop());

  it('matches the plan at every step', async () => {
    const deeds = lives.flatMap((life) => deedsOf(life).map((deed) => ({ ...deed, user: life.user }))).sort((a, b) => a.at - b.at);
    const ends = new Map(lives.map(({ user, seen }) => [user, moment(seen.at(-1)?.[0] ?? '')]));
    for (const deed of deeds) {
      const { at, user, what } = deed;
      await world.setClock(new Date(at).toISOString());
      await deed.act(world).catch((error: unknown) => {
        throw new Error(`${user}, ${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      });
      if (at === ends.get(user)) histories.set(user, (await streakOf(world, user, 366)).streakHistory);
    }
  });

  for (const life of lives) {
    it(`agrees with the streak history of ${life.user}, day by day`, () => {
      const history = histories.get(life.user) ?? [];
      if (process.env['SHOW_HISTORY'] !== undefined) console.log(`\n${table(life.user, history)}\n`);
      expect(table(life.user, history)).to.equal(table(life.user, expectedHistory(life)));
      expect(history).to.deep.equal(expectedHistory(life));
    });
  }
});
