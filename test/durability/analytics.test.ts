import { expect } from 'chai';
import { Clock } from '../../src/engine/clock.js';
import type { AnalyticsAchievementResponse, AnalyticsDaysResponse } from '../../src/responses/analytics.js';
import { dateToDay, dayToDate } from '../../src/shared/calendar.js';
import { bodyOf, read, track } from '../support/answers.js';
import { Random, runSeed } from '../support/random.js';
import {
  noteCompletions,
  readRecorded,
  recordRows,
  renameRecorded,
  type RecordedEvent,
  type RecordedRows,
} from '../support/recorded-rows.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, type World } from '../support/world.js';

const trigger = { type: 'metric', status: 'active' } as const;
const achievement = { trigger: 'metric', status: 'active' } as const;
/** `backfilled` becomes active halfway, and completes for users who qualified before. */
const configWith = (backfilled: 'active' | 'inactive'): string =>
  JSON.stringify({
    settings: { controlRatio: 0.3 },
    metrics: ['cards', 'minutes', 'rare'].map((key) => ({ key, name: key })),
    points: [
      {
        ...{ key: 'xp', name: 'XP', maxPoints: 500 },
        triggers: [
          { ...trigger, key: 'cards', metricKey: 'cards', metricThreshold: 4, points: 3 },
          { ...trigger, key: 'fine', metricKey: 'minutes', metricThreshold: 7, points: -2 },
          { key: 'streak', type: 'streak', streakLength: 2, points: 5, status: 'active' },
          { key: 'welcome', type: 'user_creation', points: 10, status: 'active' },
        ],
      },
      {
        key: 'gems',
        name: 'Gems',
        triggers: [{ key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' }],
      },
    ],
    achievements: [
      { ...achievement, key: 'ten', name: 'Ten', metricKey: 'cards', metricValue: 10 },
      { ...achievement, key: 'more', name: 'More', metricKey: 'minutes', metricValue: 25.5 },
      { ...achievement, key: 'backfilled', name: 'Backfilled', metricKey: 'cards', metricValue: 15, status: backfilled },
      { key: 'three', name: 'Three', trigger: 'streak', streakLength: 3, status: 'active' },
      { key: 'by-hand', name: 'By hand', trigger: 'api', status: 'active' },
    ],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }], freezes: { initial: 1, maximum: 2 } },
  });

/** Across the date line, with clocks that change on different days, one of them by half an hour. */
const zones = [
  'Pacific/Kiritimati',
  'Pacific/Honolulu',
  'America/New_York',
  'Europe/Lisbon',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
] as const;
const users = ['ana', 'bo', 'carl', 'dee', 'eve', 'flo', 'gus'] as const;
const [hourMs, dayMs] = [3_600_000, 86_400_000];
/** The value that Postgres refuses for a while. Its metric completes nothing, so no completion waits in a dead letter. */
const poison = 666;
const steps = 220;
const start = '2040-02-27T12:00:00.000Z';

/** Every seventh write of counts loses its connection: the transaction is gone when all of it but the commit has been done. */
const loseConnections = `
  create sequence writes;
  create function lose_connection() returns trigger language plpgsql as
  $$ begin
    if nextval('writes') % 7 = 0 then perform pg_terminate_backend(pg_backend_pid()); end if;
    return null;
  end $$;
  create trigger lose before insert on analytics_days for each statement execute function lose_connection();`;

/** A random life of a few users, one action at a time. */
class Life {
  private readonly world: World;
  private readonly random: Random;
  private nowMs = Date.parse(start);
  private deletions = 0;
  private isPoisonRefused = false;
  private readonly zoneOf = new Map<string, string>();

  constructor(world: World, random: Random) {
    this.world = world;
    this.random = random;
  }

  get today(): number {
    return Math.floor(this.nowMs / dayMs);
  }

  async play(): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.wait();
      if (step === steps / 2) await this.world.configure(configWith('active'));
      await this.act();
    }
    await this.acceptPoison();
    await this.world.drain();
    for (const user of users) await this.noteCompletions(user);
  }

  private async wait(): Promise<void> {
    const { random } = this;
    const longest = random.pick([hourMs, hourMs, 8 * hourMs, 30 * hourMs, random.chance(0.15) ? 40 * dayMs : 2 * dayMs]);
    this.nowMs += 1_000 + random.below(longest);
    // Without a sweep, a later call settles what was due before: its awards are of earlier days.
    if (random.chance(0.4)) await new Clock(this.world.engine, true).set(this.world.tenant, this.nowMs);
    else await this.world.setClock(new Date(this.nowMs).toISOString());
  }

  private async act(): Promise<void> {
    const { random, world } = this;
    const user = random.pick(users);
    const dice = random.next();
    if (dice < 0.05) await this.goWest(user);
    else if (dice < 0.1) await this.move(user, random.pick(zones), random.chance(0.5));
    else if (dice < 0.14) await this.delete(user);
    else if (dice < 0.2) await this.sendPoison(user);
    else if (dice < 0.24) await this.acceptPoison();
    else if (dice < 0.3) await world.request('POST', '/v1/achievements/by-hand/complete', { body: { user: { id: user } } });
    else if (dice < 0.34) await world.drain();
    else for (let count = 1 + random.below(3); count > 0; count -= 1) await this.event(random.chance(0.7) ? user : random.pick(users));
  }

  private async event(user: string): Promise<void> {
    const metric = this.random.pick(['cards', 'cards', 'minutes', 'rare']);
    await track(this.world, metric, { user, value: (this.random.below(120) - 20) / (metric === 'cards' ? 10 : 100) });
  }

  /** Changes the zone, with an event or without one. */
  private async move(user: string, tz: string, withEvent: boolean): Promise<void> {
    await this.world.drain();
    await this.noteCompletions(user);
    this.zoneOf.set(user, tz);
    if (withEvent) await track(this.world, 'minutes', { user: { id: user, tz }, value: 1.25 });
    else bodyOf(await this.world.request('PUT', `/v1/users/${user}`, { body: { tz } }), 200);
  }

  /** Returns to a day that was over. */
  private async goWest(user: string): Promise<void> {
    await this.move(user, zones[0], true);
    await this.move(user, zones[1], true);
  }

  private async delete(user: string): Promise<void> {
    await this.world.drain();
    await this.noteCompletions(user);
    const { status } = await this.world.request('DELETE', `/admin/v1/users/${user}`);
    expect(status).to.be.oneOf([200, 404]);
    await renameRecorded(this.world.pool, user, `${user}, ${(this.deletions += 1)}`);
    this.zoneOf.delete(user);
  }

  private noteCompletions(user: string): Promise<void> {
    return noteCompletions(this.world.pool, user, this.zoneOf.get(user) ?? 'UTC');
  }

  /** An event that becomes a dead letter. */
  private async sendPoison(user: string): Promise<void> {
    await this.world.drain();
    if (!this.isPoisonRefused)
      await this.world.pool.query(`alter table events add constraint no_poison check (value <> ${poison}) not valid`);
    this.isPoisonRefused = true;
    await track(this.world, 'rare', { user, value: poison });
    await this.world.drain();
  }

  /** Writes the dead letters, behind newer entries. */
  private async acceptPoison(): Promise<void> {
    await this.world.drain();
    if (this.isPoisonRefused) await this.world.pool.query('alter table events drop constraint no_poison');
    this.isPoisonRefused = false;
    for (;;) {
      const letters = await read<{ id: string }[]>(this.world, '/admin/v1/dead-letters?limit=100');
      if (letters.length === 0) return;
      for (const { id } of letters) await this.world.request('POST', `/admin/v1/dead-letters/${id}/retry`);
    }
  }
}

interface Span {
  readonly first: number;
  readonly last: number;
}
const listOf = ({ first, last }: Span, numberOf: (date: string, day: number) => number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => numberOf(dayToDate(first + i), first + i));
const inHundredths = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + Math.round(number * 100), 0) / 100;

/** Users with an event in the days from `first` to `last`. */
function activeUsers(events: readonly RecordedEvent[], first: number, last: number): number {
  return new Set(events.filter(({ day }) => dateToDay(day) >= first && dateToDay(day) <= last).map(({ user }) => user)).size;
}

/** What analytics must say, by a plain count. */
function counted(
  { events, users: all, awards, completions }: RecordedRows,
  span: Span,
  answer: AnalyticsDaysResponse,
  no: (id: string) => number,
) {
  const of = <T extends { readonly day: string }>(rows: readonly T[], isMeant: (row: T) => boolean, sum: (rows: readonly T[]) => number) =>
    listOf(span, (date) => sum(rows.filter((row) => row.day === date && isMeant(row))));
  const size = (rows: readonly unknown[]): number => rows.length;
  return {
    events: of(events, () => true, size),
    activeUsers: listOf(span, (_, day) => activeUsers(events, day, day)),
    activeUsers30: listOf(span, (_, day) => activeUsers(events, day - 29, day)),
    newUsers: of(all, () => true, size),
    metrics: answer.metrics.map(({ id }) => ({
      events: of(events, ({ metric }) => metric === no(id), size),
      change: of(
        events,
        ({ metric }) => metric === no(id),
        (rows) => inHundredths(rows.map(({ value }) => value)),
      ),
    })),
    triggers: answer.triggers.map(({ id }) => ({
      awards: of(awards, (row) => row.trigger === no(id), size),
      points: of(
        awards,
        (row) => row.trigger === no(id),
        (rows) => inHundredths(rows.map(({ awarded }) => awarded)),
      ),
    })),
    achievements: answer.achievements.map(({ id }) => ({ completions: of(completions, (row) => row.achievement === no(id), size) })),
  };
}

/** The numbers of an answer, without what names them. */
const numbersOf = ({ events, activeUsers, activeUsers30, newUsers, metrics, triggers, achievements }: AnalyticsDaysResponse) => ({
  ...{ events, activeUsers, activeUsers30, newUsers },
  metrics: metrics.map(({ events, change }) => ({ events, change })),
  triggers: triggers.map(({ awards, points }) => ({ awards, points })),
  achievements: achievements.map(({ completions }) => ({ completions })),
});

describe('Analytics after a random history', function () {
  const seed = runSeed();
  this.timeout(120_000);
  let world: World;
  let worker: Worker;
  let rows: RecordedRows;
  let no: (id: string) => number;
  let spans: readonly Span[];

  before(async () => {
    world = await startWorld({ config: configWith('inactive'), now: start, roles: { api: true, worker: false } });
    await recordRows(world.pool);
    await world.pool.query(loseConnections);
    worker = startWorker(world);
    const random = new Random(seed);
    const life = new Life(world, random);
    await life.play();
    rows = await readRecorded(world.pool);
    const { document } = await world.engine.config(world.tenant);
    const objects = [...document.metrics, ...document.achievements, ...document.pointsSystems.flatMap(({ triggers }) => triggers)];
    no = (id) => objects.find((object) => object.id === id)?.no ?? 0;
    const [first, last] = [dateToDay(start.slice(0, 10)) - 2, life.today + 40];
    const middle = first + random.below(last - first);
    // All days, in answers that are as long as they may be, and an answer that begins in the middle of a history.
    spans = [{ first: middle, last: Math.min(last, middle + 399) }];
    for (let from = first; from <= last; from += 400) spans = [...spans, { first: from, last: Math.min(last, from + 399) }];
  });
  after(async () => {
    await worker.stop();
    await world.stop();
  });

  const query = ({ first, last }: Span): string => `?from=${dayToDate(first)}&until=${dayToDate(last)}`;

  it(`are those of a plain count, day by day (SEED=${seed})`, async () => {
    for (const span of spans) {
      const answer = await read<AnalyticsDaysResponse>(world, `/admin/v1/analytics/days${query(span)}`);
      expect(answer.days).to.deep.equal(listOf(span, (_, day) => day).map(dayToDate));
      expect(numbersOf(answer)).to.deep.equal(counted(rows, span, answer, no));
    }
  });

  it(`have the rarity of each achievement up to each day (SEED=${seed})`, async () => {
    const { document } = await world.engine.config(world.tenant);
    for (const span of spans) {
      for (const { id, no: number } of document.achievements) {
        const answer = await read<AnalyticsAchievementResponse>(world, `/admin/v1/analytics/achievements/${id}${query(span)}`);
        const completions = rows.completions.filter(({ achievement }) => achievement === number);
        const completed = listOf(span, (date) => completions.filter(({ day }) => day <= date).length);
        const created = listOf(span, (date) => rows.users.filter(({ day }) => day <= date).length);
        expect(answer.completions).to.deep.equal(listOf(span, (date) => completions.filter(({ day }) => day === date).length));
        expect(answer.completed).to.deep.equal(completed);
        expect(answer.users).to.deep.equal(created);
        const rarity = completed.map((count, i) => (created[i] ? Math.round((count / created[i]) * 10_000) / 100 : 0));
        expect(answer.rarity).to.deep.equal(rarity);
      }
    }
  });

  it(`had a history with all that can go wrong (SEED=${seed})`, async () => {
    expect(rows.completions.length, 'completions').to.be.above(5);
    expect(rows.awards.length, 'awards').to.be.above(50);
    expect(rows.users.length, 'users with ids that were used again').to.be.above(users.length);
    expect(rows.events.filter(({ value }) => value === poison).length, 'late entries').to.be.above(1);
    const { rows: backdated } = await world.pool.query(
      `select 1 from recorded_events as event join recorded_events as later on later.person = event.person and later.at <= event.at and later.day > event.day`,
    );
    expect(backdated.length, 'backdated days').to.be.above(0);
    const { rows: settledLate } = await world.pool.query(`select 1 from recorded_awards group by event_id having count(distinct day) > 1`);
    expect(settledLate.length, 'awards of several days in one entry').to.be.above(0);
    const { rows: written } = await world.pool.query<{ lost: number }>('select last_value::integer / 7 as lost from writes');
    expect(written[0]?.lost, 'lost connections').to.be.above(10);
    const { rows: controls } = await world.pool.query('select 1 from recorded_users where control');
    expect(controls.length, 'users of the control group').to.be.above(0);
  });
});
