import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import { keyNames, userRecords } from '../../src/redis/contract.js';
import { configText } from '../support/answers.js';
import { Monitor, wordsOf } from '../support/monitor.js';
import { startWorld, type World } from '../support/world.js';

const users = 2_000;
/** 24 zones an hour apart: at `defaultNow` it is the same date in all of them. */
const zones = Array.from({ length: 24 }, (_, index) => `Etc/GMT${index <= 12 ? '+' : '-'}${Math.abs(12 - index)}`);
/** Of four users, one goes on. */
const goesOn = (index: number): boolean => index % 4 === 0;
const atOnce = 50;
const hourMs = 3_600_000;

const config = configText({
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, metrics: [{ metricKey: 'm', threshold: 1 }] },
});

describe(`The sweep, with ${users} users in 24 zones`, () => {
  let world: World;
  let monitor: Monitor;

  before(async () => {
    world = await startWorld({ config });
    monitor = await Monitor.start(world.settings.redisUrl!);
  });
  after(async () => {
    monitor.stop();
    await world.stop();
  });

  async function send(indexes: readonly number[]): Promise<void> {
    for (let first = 0; first < indexes.length; first += atOnce) {
      const replies = indexes
        .slice(first, first + atOnce)
        .map((index) => world.event('m', { user: { id: `user-${index}`, tz: zones[index % zones.length] }, value: 1 }));
      for (const { status } of await Promise.all(replies)) expect(status).to.equal(201);
    }
  }

  /** Moves the clock, and returns how many calls of the sweep that took and which users were looked at. */
  async function moveTo(ms: number): Promise<{ calls: number; looked: string[] }> {
    const commands = await monitor.during(
      (mark) => world.redis.echo(mark),
      () => world.setClock(new Date(ms).toISOString()),
    );
    const seen = wordsOf(commands);
    const prefix = world.partition + keyNames.user;
    return {
      // The worker sweeps every second too, but never up to a moment.
      calls: seen.filter(([command, name, , , , upTo]) => command?.toLowerCase() === 'fcall' && name?.endsWith('_sweep') && upTo !== '')
        .length,
      looked: seen.flatMap(([command, key]) =>
        command?.toLowerCase() === 'hmget' && key?.startsWith(prefix) ? [key.slice(prefix.length)] : [],
      ),
    };
  }

  it('needs a bounded number of calls, and reads only users that are due', async () => {
    const all = Array.from({ length: users }, (_, index) => index);
    await send(all);
    const nextDay = Date.parse('2040-01-03T12:00:00Z');
    await moveTo(nextDay);
    await send(all.filter(goesOn));

    const looked: string[] = [];
    let calls = 0;
    for (let hour = 1; hour <= 24; hour += 1) {
      const step = await moveTo(nextDay + hour * hourMs);
      looked.push(...step.looked);
      calls += step.calls;
    }
    const missed = all.filter((index) => !goesOn(index)).map((index) => `user-${index}`);
    expect(looked.sort()).to.deep.equal(missed.sort());
    expect(calls).to.be.at.most(Math.ceil(missed.length / limits.sweepUsers) + zones.length);

    const nothingDue = await moveTo(nextDay + 24 * hourMs + 60_000);
    expect(nothingDue).to.deep.equal({ calls: 1, looked: [] });
    expect(await world.redis.zcount(world.partition + keyNames.due, '-inf', nextDay + 24 * hourMs)).to.equal(0);
  });
});

describe('The next due time of a user', function () {
  this.timeout(30_000);
  const streaks = { enabled: true, metrics: [{ metricKey: 'm', threshold: 2 }] };
  const everyTwoDays = { key: 'days', type: 'time', timeUnit: 'days', timeInterval: 2, points: 1, status: 'active' };
  const everyFiveHours = { key: 'hours', type: 'time', timeUnit: 'hours', timeInterval: 5, points: 1, status: 'active' };
  /** What the user sends, and the days that pass before. */
  const steps: readonly (readonly [what: string, daysLater: number, event: { value: number; tz?: string }])[] = [
    ['the user is new', 0, { value: 1, tz: 'Asia/Tokyo' }],
    ['an event extends nothing', 0, { value: 0.5 }],
    ['an event extends a streak', 0, { value: 1 }],
    ['the streak is extended already', 0, { value: 3 }],
    ['the user moves west', 0, { value: 1, tz: 'America/Lima' }],
    ['the user moves east', 0, { value: 1, tz: 'Pacific/Auckland' }],
    ['an event of the next day extends nothing', 1, { value: 1 }],
    ['an event of the same day extends the streak', 0, { value: 1 }],
    ['the streak is lost', 3, { value: 1 }],
    ['a new one begins', 0, { value: 2 }],
  ];
  const configurations = {
    streaks: { streaks },
    'a daily trigger': { points: [{ key: 'p', name: 'P', triggers: [everyTwoDays] }] },
    'streaks and triggers': { streaks, points: [{ key: 'p', name: 'P', triggers: [everyTwoDays, everyFiveHours] }] },
  };
  for (const [name, parts] of Object.entries(configurations)) {
    it(`is what the sweep would store, after each event: ${name}`, async () => {
      const world = await startWorld({ config: configText({ metrics: [{ key: 'm', name: 'M' }], ...parts }) });
      try {
        const due = world.partition + keyNames.due;
        let now = Date.parse('2040-03-01T12:00:00Z');
        for (const [what, daysLater, { value, tz }] of steps) {
          now += daysLater * 24 * hourMs;
          await world.setClock(new Date(now).toISOString());
          expect(await world.event('m', { user: { id: 'ana', ...(tz === undefined ? {} : { tz }) }, value })).to.have.property(
            'status',
            201,
          );
          const noted = await world.redis.zscore(due, 'ana');
          // After a restore, all users are due, and the sweep recomputes their next due moment.
          await world.redis.multi().zadd(due, 0, 'ana').hset(`${world.partition}${keyNames.user}ana`, userRecords.due, '0').exec();
          await world.setClock(new Date((now += 1_000)).toISOString());
          expect([what, noted]).to.deep.equal([what, await world.redis.zscore(due, 'ana')]);
        }
      } finally {
        await world.stop();
      }
    });
  }
});
