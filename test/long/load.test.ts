import { expect } from 'chai';
import { DateTime } from 'luxon';
import { Client, inParallel, type Answer } from '../support/client.js';
import { killChildren, serve } from '../support/process.js';
import { Random, runSeed } from '../support/random.js';
import { richConfig } from '../support/rich-config.js';
import { configFile, setStage, type Stage } from '../support/stage.js';
import {
  draw,
  expectRanks,
  expectTotals,
  prepare,
  readEvents,
  said,
  sendDrawn,
  TrafficModel,
  userCount,
  zoneName,
  type Drawn,
  type EventRow,
} from '../support/traffic.js';
import { adminKey } from '../support/world.js';

const clients = 64;
const eventCount = 20_000;
const keyChance = 0.5;
/** The share of the events with a key that are sent several times. */
const replayChance = 0.03;

interface Sent {
  readonly drawn: Drawn;
  readonly answer: Answer;
  /** Moments of this process' clock, in milliseconds. */
  readonly from: number;
  readonly to: number;
}

const seed = runSeed();

describe(`${eventCount} events of ${userCount} users from ${clients} clients at once (SEED=${seed})`, () => {
  const random = new Random(seed);
  const drawn = Array.from({ length: eventCount }, (_, index) => draw(random, index, keyChance));
  /** What was counted, by event id. */
  const counted = new Map<string, Sent>();
  const replays: Sent[] = [];
  const model = new TrafficModel();
  let stage: Stage;
  let client: Client;
  let address: string;
  let ledger: EventRow[];

  async function send(one: Drawn, body?: object): Promise<void> {
    const from = performance.now();
    const answer = await sendDrawn(client, address, one, body);
    const sent = { drawn: one, answer, from, to: performance.now() };
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([201, 202]);
    if (answer.status === 202) {
      replays.push(sent);
      return;
    }
    const { eventId } = answer.body as { eventId: string };
    expect(counted.has(eventId), 'an event id was given before').to.be.false;
    counted.set(eventId, sent);
  }

  before(async () => {
    stage = await setStage({ env: { CONFIG: await configFile(richConfig) } });
    client = new Client(adminKey, clients);
    const service = serve(stage.env);
    address = await service.address();
    await prepare(stage.pool);
    let next = 0;
    await inParallel(clients, async () => {
      for (let one = drawn[next++]; one; one = drawn[next++]) {
        if (one.key === undefined || !random.chance(replayChance)) {
          await send(one);
          continue;
        }
        // The same key twice at once, and then with another body.
        await Promise.all([send(one), send(one)]);
        await send(one, { user: { id: one.user, name: 'Not taken over' }, value: 999 });
      }
    });
    await stage.drain().catch((error: unknown) => {
      throw new Error(`the service did not write its ledger out: ${service.log}`, { cause: error });
    });
    ledger = await readEvents(stage.pool);
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
  });

  it('are each stored in Postgres exactly once', () => {
    expect(counted.size).to.equal(eventCount);
    expect(ledger.map(({ id }) => id).sort()).to.deep.equal([...counted.keys()].sort());
  });

  it('are counted in an order that explains every single response', () => {
    for (const { id, at } of ledger) {
      const { drawn: one, answer } = counted.get(id)!;
      expect(said(answer), `event ${id}: ${JSON.stringify(one)}`).to.deep.equal(model.track(one, at));
    }
  });

  it('are counted before those that were sent after their response', () => {
    let latestStart = 0;
    for (const { id } of ledger) {
      const { from, to } = counted.get(id)!;
      expect(to, `event ${id} was answered before one in front of it was sent`).to.be.at.least(latestStart);
      latestStart = Math.max(latestStart, from);
    }
  });

  it("keep their moments in that order, and the user's own date at each", () => {
    ledger.forEach(({ id, day, at }, index) => {
      expect(at.getTime()).to.be.at.least(ledger[index - 1]?.at.getTime() ?? 0);
      expect(day).to.equal(DateTime.fromJSDate(at, { zone: zoneName(counted.get(id)!.drawn.user) }).toISODate());
    });
  });

  it('are replayed with the first event, and with a total of the moment', () => {
    expect(replays.length).to.be.greaterThan(0);
    const totals = new Map<string, { readonly from: number; readonly total: number }[]>();
    for (const { drawn: one, answer, from } of counted.values()) {
      const name = `${one.metric} ${one.user}`;
      totals.set(name, [...(totals.get(name) ?? []), { from, total: (answer.body as { total: number }).total }]);
    }
    for (const { drawn: one, answer, to } of replays) {
      const { eventId, total, points, leaderboards } = answer.body as {
        eventId: string;
        total: number;
        points: object;
        leaderboards: object;
      };
      expect(counted.get(eventId)?.drawn.key).to.equal(one.key);
      expect({ points, leaderboards }).to.deep.equal({ points: {}, leaderboards: {} });
      // Which event came last before the replay can't be told from outside, only which ones had been sent by then.
      const possible = totals.get(`${one.metric} ${one.user}`)!.filter(({ from }) => from < to);
      expect(possible.map((event) => event.total)).to.include(total);
    }
  });

  it('lead to the totals, points and levels of the model', () => expectTotals(model, client, address));

  it('lead to the ranks of the model, ties included', () => expectRanks(model, client, address));

  it('leave Postgres equal to Redis, field by field', async () => {
    expect(await stage.differences()).to.deep.equal([]);
  });
});
