import { expect } from 'chai';
import type { AnalyticsAchievementResponse, AnalyticsDaysResponse } from '../../src/responses/analytics.js';
import { dateToDay, dayToDate } from '../../src/shared/calendar.js';
import { read } from '../support/answers.js';
import { configWith, Life, loseConnections, poison, start, users } from '../support/random-life.js';
import { Random, runSeed } from '../support/random.js';
import { readRecorded, recordRows, type RecordedEvent, type RecordedRows } from '../support/recorded-rows.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, type World } from '../support/world.js';

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
    adjustments: [],
    achievements: answer.achievements.map(({ id }) => ({ completions: of(completions, (row) => row.achievement === no(id), size) })),
  };
}

/** The numbers of an answer, without what names them. */
const numbersOf = ({
  events,
  activeUsers,
  activeUsers30,
  newUsers,
  metrics,
  triggers,
  adjustments,
  achievements,
}: AnalyticsDaysResponse) => ({
  events,
  activeUsers,
  activeUsers30,
  newUsers,
  metrics: metrics.map(({ events, change }) => ({ events, change })),
  triggers: triggers.map(({ awards, points }) => ({ awards, points })),
  adjustments,
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

  it(`count the streaks of each length (SEED=${seed})`, async () => {
    const { rows: lengths } = await world.pool.query(
      `select frequency, length, count(*)::integer as users
         from user_streaks, unnest(array['daily', 'weekly', 'monthly'], array[daily, weekly, monthly]) as own (frequency, length)
        where length > 0 group by 1, 2 order by 1, 2`,
    );
    const { rows: counted } = await world.pool.query('select frequency, length, users from streak_lengths where users <> 0 order by 1, 2');
    expect(counted).to.deep.equal(lengths);
    expect(lengths.length, 'lengths').to.be.above(3);
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
