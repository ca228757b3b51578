/**
 * Weekly leaderboards with users in 20 zones run for ten weeks. In every zone users score in the last second of a run and in the first of the
 * next; two services, each with its own sweep, work on the same stores, and some runs are ended late. What is right is said by the model
 * (test/support/model), which shares no code with the engine. `SEED=… npx mocha test/long/weeks.test.ts` makes a run again.
 */
import { expect } from 'chai';
import pino from 'pino';
import { loadConfig } from '../../src/config/store/store.js';
import { groupValues } from '../../src/responses/leaderboards.js';
import { keyNames } from '../../src/redis/contract.js';
import { startService, type Service } from '../../src/app/service.js';
import { bodyOf, configText, readBoard, readPlace, track } from '../support/answers.js';
import { Model } from '../support/model/index.js';
import { dateOf, dayMs, dayOf, hourMs, startOfDay } from '../support/model/time.js';
import { Random, runSeed } from '../support/random.js';
import { adminKey, startWorld, tenant, type World } from '../support/world.js';

/** From the earliest to the latest; six of them are not on the hour, and New York puts its clocks forward on the last day of the last run. */
const zones = [
  'Pacific/Kiritimati',
  'Pacific/Chatham',
  'Pacific/Tongatapu',
  'Pacific/Auckland',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Asia/Tokyo',
  'Australia/Eucla',
  'Asia/Yangon',
  'Asia/Kathmandu',
  'Asia/Kabul',
  'Asia/Tehran',
  'Europe/Athens',
  'UTC',
  'Atlantic/Azores',
  'America/St_Johns',
  'America/New_York',
  'Pacific/Marquesas',
  'Pacific/Pago_Pago',
  'Etc/GMT+12',
] as const;

const weeks = 10;
/** A Monday. */
const firstDay = dayOf('2040-01-02');
const dayOfRun = (run: number): number => firstDay + 7 * run;
const runName = (run: number): string => dateOf(dayOfRun(run));
/** When a run is final: 12 hours after its last day has ended in UTC. */
const finalAt = (run: number): number => dayOfRun(run + 1) * dayMs + 12 * hourMs;
/** Runs at whose end the clock moves without a requested sweep, and by how much. */
const lateMs: Readonly<Record<number, number>> = { 3: 26 * hourMs, 6: 60 * hourMs };

/** `week` has room for all users, `top` for a few, and `cities` has a breakdown. */
const boards = ['week', 'top', 'cities'] as const;
const cities = ['Lisbon', 'Nuuk'] as const;
const board = { status: 'active', rankBy: 'metric', metricKey: 'lessons', start: runName(0), runUnit: 'day', runInterval: 7 };
const config = configText({
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [{ key: 'lessons', name: 'Lessons' }],
  leaderboards: [
    { ...board, key: 'week', name: 'Week' },
    { ...board, key: 'top', name: 'Top', maxParticipants: 6 },
    { ...board, key: 'cities', name: 'Cities', maxParticipants: 5, breakdownAttributes: ['city'] },
  ],
});

interface Person {
  readonly id: string;
  readonly zone: string;
  readonly city: (typeof cities)[number];
}
/** Two in each zone, one of whom lives the first second of each run and the other one the last of the one before. */
const people = zones.flatMap((zone, i): Person[] =>
  (['late', 'early'] as const).map((which) => ({ id: `${which} ${zone}`, zone, city: cities[i % 2] ?? 'Lisbon' })),
);

interface Scored {
  readonly at: number;
  readonly person: Person;
  readonly value: number;
}

/** What happens from the boundary before a run to the boundary after it, in the order of time. The value of an event is above 0 or small. */
function eventsAround(run: number, random: Random): Scored[] {
  const midnight = (person: Person): number => startOfDay(person.zone, dayOfRun(run));
  const boundary = people.map((person): Scored => {
    const isLate = person.id.startsWith('late');
    return { at: midnight(person) - (isLate ? 1000 : 0), person, value: 1 + random.below(4) / 2 };
  });
  const middle = people.flatMap((person): Scored[] => {
    const at = midnight(person) + (1 + random.below(5)) * dayMs + random.below(20) * hourMs;
    const scored = { at, person, value: 5 + random.below(12) };
    // A large loss leaves a better user outside a full leaderboard.
    return random.chance(0.3) ? [scored, { at: at + hourMs, person, value: -(1 + random.below(4)) }] : [scored];
  });
  return [...boundary, ...(run < weeks ? middle : [])].sort((a, b) => a.at - b.at);
}

interface Row {
  readonly board: string;
  readonly run: string;
  readonly group: string;
  readonly rank: number;
  readonly user: string;
  readonly value: number;
}

const rowsQuery = `
  select l.name as board, to_char(date '1970-01-01' + r.run, 'YYYY-MM-DD') as run, r."group", r.rank, r.user_id as "user", r.value::float as value
    from leaderboard_rankings r
    join (select (b->>'no')::int as no, b->>'key' as name
            from config_versions c, jsonb_array_elements(c.document->'leaderboards') b
           where c.version = (select max(version) from config_versions)) l on l.no = r.leaderboard`;

const order = ({ board: key, run, group, rank }: Row): string => [key, run, group, String(rank).padStart(4, '0')].join('|');
const inOrder = (rows: readonly Row[]): Row[] => [...rows].sort((a, b) => (order(a) < order(b) ? -1 : 1));

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

describe('Weekly leaderboards with users in 20 zones, for ten weeks', () => {
  const seed = runSeed();
  let world: World;
  /** Another service on the same stores. */
  let second: Service;
  let model: Model;
  /** What was sent, by the run that it belongs to; -1 is before the first. */
  const sent = new Map<number, number>();
  let events = 0;

  before(async () => {
    world = await startWorld({ config, now: '2040-01-01T00:00:00.000Z' });
    second = await startService(
      { settings: { ...world.settings, config: null }, log: pino({ level: 'silent' }), print: () => undefined },
      { api: true, worker: true },
    );
    model = new Model((await loadConfig(world.pool, tenant)).document, Date.parse('2040-01-01T00:00:00.000Z'));
  });
  after(async () => {
    await second.stop();
    await world.stop();
  });

  /** Moves the clock without a sweep: due work waits for the services' sweeps and for calls that need it. */
  const drift = async (at: number): Promise<void> => {
    await world.redis.set(world.partition + keyNames.clock, String(at));
  };
  const sweepAt = async (address: string, at: number): Promise<void> => {
    const body = JSON.stringify({ now: new Date(at).toISOString() });
    const headers = { 'x-api-key': adminKey, 'content-type': 'application/json' };
    // A 202 says how far the clock has come.
    let reply;
    do reply = await fetch(`${address}/admin/v1/clock`, { method: 'PUT', headers, body });
    while (reply.status === 202);
    expect(reply.status, await reply.text()).to.equal(200);
  };
  /** Both services sweep, twice and at once. */
  const sweepTwice = async (at: number): Promise<void> => {
    await Promise.all([world.address, second.address ?? '', world.address, second.address ?? ''].map((address) => sweepAt(address, at)));
  };

  async function score({ at, person: { id, zone, city }, value }: Scored): Promise<void> {
    model.setNow(at);
    const user = { id, tz: zone, attributes: { city } };
    const said = model.event({ metricKey: 'lessons', user, value }).body as { leaderboards: Record<string, { rank: number | null }> };
    const { leaderboards } = await track(world, 'lessons', { user, value });
    const ranks = (blocks: Readonly<Record<string, { rank: number | null }>>): object =>
      Object.fromEntries(Object.entries(blocks).map(([key, { rank }]) => [key, rank]));
    expect(ranks(leaderboards), `${id} at ${new Date(at).toISOString()}, seed ${seed}`).to.deep.equal(ranks(said.leaderboards));
    // The run that the local date is in, worked out from nothing but midnights.
    const run = Array.from({ length: weeks + 1 }, (_, i) => i).findLast((candidate) => startOfDay(zone, dayOfRun(candidate)) <= at) ?? -1;
    sent.set(run, (sent.get(run) ?? 0) + value);
    events += 1;
  }

  /** The final rankings in Postgres, and those of the model. */
  async function finals(): Promise<Row[]> {
    await world.drain();
    const { rows } = await world.pool.query<Row>(rowsQuery);
    return inOrder(rows.map((row) => ({ ...row, group: groupValues(row.group).join() })));
  }
  function expectedFinals(runs: number): Row[] {
    const rows = boards.flatMap((key) =>
      Array.from({ length: runs }, (_, run) => runName(run)).flatMap((run) => {
        const { rankings } = model.finalRankings(key, run).body as {
          rankings: { group: string[]; rank: number; userId: string; value: number }[];
        };
        return rankings.map(({ group, rank, userId, value }) => ({ board: key, run, group: group.join(), rank, user: userId, value }));
      }),
    );
    return inOrder(rows);
  }

  const runRows = async (): Promise<object[]> => {
    await world.drain();
    return (await world.pool.query<object>('select leaderboard, run, finalised from leaderboard_runs order by run, leaderboard')).rows;
  };
  const readable = (rows: readonly Row[]): string[] =>
    rows.map(({ board: key, run, group, rank, user, value }) => `${key} ${run} ${group}: ${rank} ${user} ${value}`);

  it('respond to every event as the model does, and end each run once, after the last zone', async () => {
    const random = new Random(seed);
    const all = Array.from({ length: weeks + 1 }, (_, run) => eventsAround(run, random)).flat();
    // One run continues while the next has already begun further east.
    all.sort((a, b) => a.at - b.at);
    let ended = 0;
    const end = async (at: number): Promise<void> => {
      await sweepTwice(at);
      model.setNow(at);
      ended += 1;
      expect((await runRows()).length, `runs that are final after ${new Date(at).toISOString()}`).to.equal(boards.length * ended);
      expect(readable(await finals()), `seed ${seed}`).to.deep.equal(readable(expectedFinals(ended)));
    };
    /** When the sweep comes to a run that is over, if it is late. */
    let lateAt = Infinity;
    for (const scored of all) {
      if (lateAt < scored.at) {
        await drift(lateAt);
        await end(lateAt);
        lateAt = Infinity;
      }
      // In the latest zone a run begins at the very moment at which the one before it is final: both at once.
      const isAtEnd = scored.at === finalAt(ended);
      if (isAtEnd) expect((await runRows()).length, 'runs that are final a second too early').to.equal(boards.length * ended);
      await drift(scored.at);
      const late = lateMs[ended];
      if (isAtEnd && late !== undefined) lateAt = scored.at + late;
      await Promise.all([score(scored), ...(isAtEnd && late === undefined ? [end(scored.at)] : [])]);
    }
    expect(ended).to.equal(weeks);
    expect(events).to.be.greaterThan(800);
  });

  it('lose no event between runs: the finals, the run that is open and what was before the first make the sum of all', async () => {
    const rows = await finals();
    for (let run = 0; run < weeks; run += 1) {
      const values = rows.filter((row) => row.board === 'week' && row.run === runName(run)).map(({ value }) => value);
      expect([values.length, sum(values)], `run ${runName(run)}, seed ${seed}`).to.deep.equal([people.length, sent.get(run)]);
    }
    const open = (await readBoard(world, 'week', `?run=${runName(weeks)}&limit=1000`)).map((line) => Number(line.split(' ').at(-1)));
    expect([open.length, sum(open)]).to.deep.equal([people.length / 2, sent.get(weeks)]);
    const { rows: totals } = await world.pool.query<{ total: number }>('select sum(total)::float as total from user_metrics');
    expect(totals[0]?.total).to.equal(sum([...sent.values()]));
  });

  it('can be read by the dates of their runs, as Postgres has them', async () => {
    const rows = await finals();
    for (let run = 0; run < weeks; run += 1) {
      for (const key of boards) {
        for (const group of key === 'cities' ? cities : ['']) {
          const kept = rows.filter((row) => row.board === key && row.run === runName(run) && row.group === group);
          // Any date of a run names it.
          const query = `?run=${dateOf(dayOfRun(run) + (run % 7))}&limit=1000${group === '' ? '' : `&userAttributes=city:${group}`}`;
          expect(await readBoard(world, key, query)).to.deep.equal(kept.map(({ rank, user, value }) => `${rank} ${user} ${value}`));
        }
      }
      const winner = rows.find((row) => row.board === 'top' && row.run === runName(run) && row.rank === 1);
      expect(await readPlace(world, winner?.user ?? '', 'top', `?run=${runName(run)}`)).to.include({ rank: 1, value: winner?.value });
    }
  });

  it('stay as they are when the sweep comes again, later, and from several services at once', async () => {
    const before = [await runRows(), await finals()];
    const { now } = bodyOf<{ now: string }>(await world.get('/admin/v1/clock'), 200);
    await sweepTwice(Date.parse(now));
    await sweepTwice(Date.parse(now) + hourMs);
    // A month on, the eleventh run has ended, too, and the four after it, in which nothing happened, leave no trace.
    await sweepTwice(finalAt(weeks + 4));
    const runs = await runRows();
    expect(runs.slice(0, boards.length * weeks)).to.deep.equal(before[0]);
    expect(runs.length).to.equal(boards.length * (weeks + 1));
    expect((await finals()).filter(({ run }) => run < runName(weeks))).to.deep.equal(before[1]);
  });
});
