import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { DateTime } from 'luxon';
import { Client, inParallel, type Answer } from './support/client.js';
import { Model, type ModelAnswer } from './support/model.js';
import { killChildren, serve, type LaurelProcess } from './support/process.js';
import { Random, runSeed } from './support/random.js';
import { richConfig } from './support/rich-config.js';
import { setStage, type Stage } from './support/stage.js';
import { stores } from './support/stores.js';
import { adminKey } from './support/world.js';

const clients = 64;
const eventCount = 20_000;
const userCount = 200;
/** Requests that are sent a second time, some at the same moment as the first. */
const replayChance = 0.03;
const zones = [undefined, 'Asia/Tokyo', 'America/Los_Angeles', 'UTC'] as const;

interface Request {
  readonly metric: string;
  readonly user: string;
  readonly value: number;
  readonly attributes: Readonly<Record<string, string>> | undefined;
  readonly device: string | undefined;
  readonly key: string | undefined;
}

interface Sent {
  readonly request: Request;
  readonly answer: Answer;
  /** Moments of the one clock of this process, in the order of which nothing else happened in between. */
  readonly from: number;
  readonly to: number;
}

/** Users are drawn so that a few of them get much of the load: the same user and metric are then often sent by many clients at once. */
function drawRequest(random: Random, index: number): Request {
  const user = random.chance(0.2) ? random.below(4) : random.below(userCount);
  const metric = random.pick(['cards', 'cards', 'minutes', 'mistakes']);
  const value = metric === 'minutes' ? (1 + random.below(400)) / 10 : 1 + random.below(9);
  return {
    metric,
    user: `u${user}`,
    // A correction now and then: totals fall, places are lost, and no multiple may pay twice.
    value: random.chance(0.04) && metric !== 'minutes' ? -value : value,
    attributes: random.chance(0.1) ? { city: random.pick(['Lisbon', 'Porto']), plan: random.pick(['pro', 'free']) } : undefined,
    device: random.chance(0.3) ? random.pick(['phone', 'desk']) : undefined,
    key: random.chance(0.5) ? `key ${index}` : undefined,
  };
}

const bodyOf = ({ user, value, attributes, device }: Request): object => ({
  user: { id: user, ...zoneOf(user), ...(attributes && { attributes }) },
  value,
  ...(device !== undefined && { attributes: { device } }),
});

/** A quarter of the users each name no zone, one ahead of UTC, one behind it, and UTC. */
const zoneName = (user: string): (typeof zones)[number] => zones[Number(user.slice(1)) % zones.length];
const zoneOf = (user: string): object => {
  const tz = zoneName(user);
  return tz === undefined ? {} : { tz };
};

/** What an answer says, in the terms of the model. */
function said({ body }: Answer): ModelAnswer {
  type Points = Record<string, { total: number; added: number; awards: { awarded: number }[]; level?: { key: string } | null }>;
  type Boards = Record<string, { rank: number; previousRank: number | null; threshold: number }>;
  const { total, points, leaderboards } = body as { total: number; points: Points; leaderboards: Boards };
  return {
    total,
    points: Object.fromEntries(
      Object.entries(points).map(([key, { total: all, added, awards, level }]) => [
        key,
        { total: all, added, awarded: awards.map(({ awarded }) => awarded), ...(level === undefined ? {} : { level: level?.key ?? null }) },
      ]),
    ),
    leaderboards: Object.fromEntries(
      Object.entries(leaderboards).map(([key, { rank, previousRank, threshold }]) => [key, { rank, previousRank, threshold }]),
    ),
  };
}

interface EventRow {
  readonly id: string;
  readonly day: string;
  readonly at: Date;
}

describe(`${eventCount} events of ${userCount} users from ${clients} clients at once`, function () {
  this.timeout(120_000);
  const random = new Random(runSeed());
  const requests = Array.from({ length: eventCount }, (_, index) => drawRequest(random, index));
  const counted = new Map<string, Sent>();
  const replays: Sent[] = [];
  const model = new Model(richConfig);
  let stage: Stage;
  let service: LaurelProcess;
  let client: Client;
  let address: string;
  let ledger: EventRow[];

  async function send(request: Request, body = bodyOf(request)): Promise<Sent> {
    const from = performance.now();
    const answer = await client.event(address, request.metric, body, request.key === undefined ? {} : { 'idempotency-key': request.key });
    return { request, answer, from, to: performance.now() };
  }

  function keep(sent: Sent): void {
    const { status, body } = sent.answer;
    expect(status, JSON.stringify(body)).to.be.oneOf([201, 202]);
    if (status === 202) {
      replays.push(sent);
      return;
    }
    const { eventId } = body as { eventId: string };
    expect(counted.has(eventId), 'an event id is given once').to.be.false;
    counted.set(eventId, sent);
  }

  before(async () => {
    const config = join((await stores()).folder, 'load.yaml');
    await writeFile(config, JSON.stringify(richConfig));
    stage = await setStage({ env: { CONFIG: config } });
    client = new Client(adminKey, clients);
    service = serve(stage.env);
    address = await service.address();
    // Rows of one batch are inserted in the order of the ledger and batches one after the other, so this column, which only this test
    // adds, numbers the events in the order in which they were counted. No other column does: several share a millisecond.
    await stage.pool.query('alter table events add column ordinal bigserial');
    let next = 0;
    await inParallel(clients, async () => {
      for (let request = requests[next++]; request; request = requests[next++]) {
        if (request.key !== undefined && random.chance(replayChance)) {
          // The same key twice at once, and once more with another body.
          const twice = await Promise.all([send(request), send(request)]);
          for (const sent of [...twice, await send(request, { user: { id: request.user, name: 'x' }, value: 999 })]) keep(sent);
        } else keep(await send(request));
      }
    });
    await stage.drain().catch((e: unknown) => { console.log(service.log.slice(0, 3000)); throw e; });
    const { rows } = await stage.pool.query<EventRow>(`select id, to_char(day, 'YYYY-MM-DD') as day, at from events order by ordinal`);
    ledger = rows;
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
  });
  afterEach(function () {
    if (this.currentTest?.state === 'failed') console.error(`      SEED=${random.seed}`);
  });

  it('puts every event into Postgres exactly once', () => {
    expect(counted.size).to.equal(eventCount);
    expect(ledger.map(({ id }) => id).sort()).to.deep.equal([...counted.keys()].sort());
  });

  it('counts them in an order that explains every single answer', () => {
    for (const { id, day } of ledger) {
      const { request, answer } = counted.get(id)!;
      const expected = model.track({
        ...{ metric: request.metric, user: request.user, value: request.value, day },
        ...(request.attributes && { userAttributes: request.attributes }),
        ...(request.device !== undefined && { eventAttributes: { device: request.device } }),
      });
      expect(said(answer), `event ${id}: ${JSON.stringify(request)}`).to.deep.equal(expected);
    }
  });

  it('counts an event that was answered before another was sent, before it', () => {
    let latestStart = 0;
    for (const { id } of ledger) {
      const { from, to } = counted.get(id)!;
      expect(to, `event ${id} was answered before one in front of it was sent`).to.be.at.least(latestStart);
      latestStart = Math.max(latestStart, from);
    }
  });

  it("keeps the server's clock in that order, and each user's own date", () => {
    ledger.forEach(({ id, day, at }, index) => {
      expect(at.getTime()).to.be.at.least(ledger[index - 1]?.at.getTime() ?? 0);
      const zone = zoneName(counted.get(id)!.request.user) ?? 'UTC';
      expect(day).to.equal(DateTime.fromJSDate(at, { zone }).toISODate());
    });
  });

  it('answers a replay with the first event and a total of the moment', () => {
    expect(replays.length).to.be.greaterThan(0);
    const totals = new Map<string, { at: number; total: number }[]>();
    for (const { request, answer, from } of counted.values()) {
      const name = `${request.metric} ${request.user}`;
      totals.set(name, [...(totals.get(name) ?? []), { at: from, total: (answer.body as { total: number }).total }]);
    }
    for (const { request, answer, to } of replays) {
      const { eventId, total, points, leaderboards } = answer.body as { eventId: string; total: number; points: object; leaderboards: object };
      expect(counted.get(eventId)?.request.key).to.equal(request.key);
      expect({ points, leaderboards }).to.deep.equal({ points: {}, leaderboards: {} });
      const possible = totals.get(`${request.metric} ${request.user}`)!.filter(({ at }) => at < to);
      expect(possible.map((one) => one.total)).to.include(total);
    }
  });

  it('leads to the totals, points and levels of the model', async () => {
    await inParallel(userCount, async (index) => {
      const user = `u${index}`;
      const metrics = await client.send(address, 'GET', `/v1/users/${user}/metrics`);
      const current = (metrics.body as { key: string; current: number }[]).filter(({ key }) => key in model.totals(user));
      expect(Object.fromEntries(current.map(({ key, current: total }) => [key, total]))).to.deep.equal(model.totals(user));
      for (const system of ['xp', 'gems']) {
        const { body } = await client.send(address, 'GET', `/v1/users/${user}/points/${system}`);
        const { total, level } = body as { total: number; level: { key: string } | null };
        expect([total, level?.key ?? null]).to.deep.equal([model.pointsOf(user, system), model.levelOf(user, system)]);
      }
    });
  });

  it('leads to the ranks of the model, ties included', async () => {
    for (const { key } of richConfig.leaderboards) {
      const { body } = await client.send(address, 'GET', `/v1/leaderboards/${key}?limit=1000`);
      const rankings = (body as { rankings: { userId: string; rank: number; value: number }[] }).rankings;
      expect(
        rankings.map(({ userId, rank, value }) => ({ userId, rank, value })),
        key,
      ).to.deep.equal(model.rankings(key));
    }
  });

  it('leaves Postgres equal to Redis, field by field', async () => {
    expect(await stage.differences()).to.deep.equal([]);
  });
});
