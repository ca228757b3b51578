import { expect } from 'chai';
import { Client } from './client.js';
import { countDifferences } from './recorded-rows.js';
import { killChildren, serve, type LaurelProcess } from './process.js';
import { Random, runSeed } from './random.js';
import { richConfig } from './rich-config.js';
import { configFile, setStage, type Stage } from './stage.js';
import { expectExactlyOnce, expectExplained, SteadyTraffic } from './steady-traffic.js';
import { expectRanks, expectTotals, prepare, readEvents, TrafficModel, type EventRow } from './traffic.js';
import { adminKey } from './world.js';

const clients = 32;
/** The service is killed after at most this many responses. */
const maxAnswersOfALife = 1_200;

/** Defines the tests of a service killed repeatedly under load. */
export function describeCrash(kills: number): void {
  const seed = runSeed();
  describe(`kill -9 of the service, ${kills} times under load (SEED=${seed})`, function () {
    this.timeout(600_000);
    const moments = new Random(seed);
    const model = new TrafficModel();
    let stage: Stage;
    let client: Client;
    let traffic: SteadyTraffic;
    let service: LaurelProcess;
    let starting: Promise<string>;
    let address: string;
    let ledger: EventRow[];

    function start(): void {
      service = serve(stage.env);
      starting = service.address();
    }

    before(async () => {
      stage = await setStage({ env: { CONFIG: await configFile(richConfig), API_PROCESSES: '2' } });
      client = new Client(adminKey, clients);
      traffic = new SteadyTraffic({ seed, clients, address: () => starting });
      start();
      await starting;
      await prepare(stage.pool);
      traffic.start();
      // Whether a kill leaves an event between its commit and its answer is chance, on a busy machine above all.
      const isEnough = (kill: number): boolean => kill >= kills && (kills === 1 || traffic.tally.found > 0);
      for (let kill = 0; !isEnough(kill) && kill < 5 * kills; kill += 1) {
        await starting;
        const enough = traffic.tally.answers + 1 + moments.below(maxAnswersOfALife);
        await traffic.during(`${enough} answers`, () => traffic.tally.answers >= enough);
        await service.kill();
        // The killed holder's lease would expire after limits.leaseMs; ended here, so that each process also writes behind.
        await stage.pool.query(`update stream_offsets set lease_until = '-infinity'`);
        start();
      }
      address = await starting;
      await traffic.stop();
      await stage.drain();
      ledger = await readEvents(stage.pool);
    });
    after(async () => {
      traffic.close();
      client.close();
      await killChildren();
      await stage.stop();
    });

    it('cuts requests off', () => {
      expect(traffic.tally.lost).to.be.greaterThan(0);
    });

    // One kill may leave none.
    if (kills > 1) {
      it('leaves events that only a replay acknowledges', () => {
        expect(traffic.tally.found).to.be.greaterThan(0);
      });
    }

    it('leaves every acknowledged event in Postgres exactly once, and no other', () => expectExactlyOnce(ledger, traffic.acknowledged));

    it('leaves them in an order that explains every response', () => expectExplained(model, ledger, traffic.acknowledged));

    it('leads to the totals, points, levels and ranks of the model', async () => {
      await expectTotals(model, client, address);
      await expectRanks(model, client, address);
    });

    it('leaves the counts by day equal to those of the rows', async () => {
      expect(await countDifferences(stage.pool)).to.deep.equal([]);
    });

    it('leaves Postgres equal to Redis, field by field', async () => {
      expect(await stage.differences()).to.deep.equal([]);
    });
  });
}
