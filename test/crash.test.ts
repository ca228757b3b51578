import { expect } from 'chai';
import { Client, inParallel, NoAnswer } from './support/client.js';
import { Model } from './support/model.js';
import { killChildren, serve, type LaurelProcess } from './support/process.js';
import { Random, runSeed } from './support/random.js';
import { richConfig } from './support/rich-config.js';
import { configFile, setStage, until, type Stage } from './support/stage.js';
import {
  draw,
  expectRanks,
  expectTotals,
  modelEvent,
  prepare,
  readEvents,
  said,
  sendDrawn,
  type Drawn,
  type EventRow,
} from './support/traffic.js';
import { adminKey } from './support/world.js';

const clients = 32;
const kills = 10;
/** A life of the service ends after so many answers at most. */
const maxAnswersOfALife = 1_200;

/** What was acknowledged, by idempotency key. */
interface Acknowledged {
  readonly drawn: Drawn;
  readonly eventId: string;
  /** The answer of the event itself, in the terms of the model; undefined when only a replay was answered. */
  readonly said: ReturnType<typeof said> | undefined;
}

const seed = runSeed();

describe(`kill -9 of the service, ${kills} times under load (SEED=${seed})`, function () {
  this.timeout(180_000);
  const moments = new Random(seed);
  const acknowledged = new Map<string, Acknowledged>();
  const model = new Model(richConfig);
  let stage: Stage;
  let client: Client;
  let service: LaurelProcess;
  let starting: Promise<string>;
  let address: string;
  let ledger: EventRow[];
  let answers = 0;
  let lost = 0;
  let sending = true;

  function start(): void {
    service = serve(stage.env);
    starting = service.address();
  }

  /** Sends an event again and again, as callers do, until it is acknowledged. */
  async function sendUntilAcknowledged(one: Drawn): Promise<void> {
    for (;;) {
      const life = service;
      try {
        const answer = await sendDrawn(client, await starting, one);
        answers += 1;
        if (answer.status === 503) continue;
        expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([201, 202]);
        const { eventId } = answer.body as { eventId: string };
        acknowledged.set(one.key!, { drawn: one, eventId, said: answer.status === 201 ? said(answer) : undefined });
        return;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        // Its connection broke: the next life answers at another address.
        if (!error.refused) lost += 1;
        await until('the next life', () => service !== life);
      }
    }
  }

  before(async () => {
    stage = await setStage({ env: { CONFIG: await configFile(richConfig) } });
    client = new Client(adminKey, clients);
    start();
    await starting;
    await prepare(stage.pool);
    let next = 0;
    const load = inParallel(clients, async () => {
      while (sending) await sendUntilAcknowledged(draw(new Random(seed + (next += 1)), next, 1));
    });
    for (let kill = 0; kill < kills; kill += 1) {
      await starting;
      const enough = answers + 1 + moments.below(maxAnswersOfALife);
      await Promise.race([load, until(`${enough} answers`, () => answers >= enough)]);
      await service.kill();
      // The dead holder's lease would run out after limits.leaseMs; ended here, so that every life writes behind too.
      await stage.pool.query(`update stream_offsets set lease_until = '-infinity'`);
      start();
    }
    address = await starting;
    sending = false;
    await load;
    await stage.drain();
    ledger = await readEvents(stage.pool);
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
  });

  it('cut requests off, and left events behind that only a replay acknowledged', () => {
    expect(lost).to.be.greaterThan(0);
    expect([...acknowledged.values()].filter((one) => !one.said).length).to.be.greaterThan(0);
  });

  it('leaves every acknowledged event in Postgres exactly once, and no other', () => {
    const stored = ledger.map(({ id, key }) => `${key!} ${id}`).sort();
    expect(stored).to.deep.equal([...acknowledged].map(([key, { eventId }]) => `${key} ${eventId}`).sort());
  });

  it('counts them in an order that explains every answer', () => {
    for (const { id, key, day } of ledger) {
      const { drawn, said: answer } = acknowledged.get(key!)!;
      const expected = model.track(modelEvent(drawn, day));
      if (answer) expect(answer, `event ${id}: ${JSON.stringify(drawn)}`).to.deep.equal(expected);
    }
  });

  it('leads to the totals, points, levels and ranks of the model', async () => {
    await expectTotals(model, client, address);
    await expectRanks(model, client, address);
  });

  it('leaves Postgres equal to Redis, field by field', async () => {
    expect(await stage.differences()).to.deep.equal([]);
  });
});
