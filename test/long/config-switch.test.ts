import { applyConfig } from '../../src/app/apply.js';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import pino from 'pino';
import { metaFields } from '../../src/redis/contract.js';
import { startService, type Service } from '../../src/app/service.js';
import { Client, inParallel, type Answer } from '../support/client.js';
import { readPoints, track } from '../support/answers.js';
import { killChildren, runLaurel, serve } from '../support/process.js';
import { configFile, setStage, until, type Stage } from '../support/stage.js';
import { removeStores } from '../support/stores.js';
import { adminKey, startWorld, type World } from '../support/world.js';

/** A configuration whose version shows in every answer: each unit pays `rate` points in two systems. */
const ratedConfig = (rate: number): string => {
  const system = (key: string): object => ({
    key,
    name: key,
    triggers: [{ key: `${key}-each`, type: 'metric', metricKey: 'cards', metricThreshold: 1, points: rate, status: 'active' }],
  });
  return JSON.stringify({ metrics: [{ key: 'cards', name: 'Cards' }], points: [system('xp'), system('gems')] });
};

interface EventAnswer {
  readonly eventId: string;
  readonly total: number;
  readonly points: Readonly<Record<string, { readonly added: number; readonly total: number }>>;
}

/** The rate by which an event of value 1 was counted; both systems must have been paid by the same one. */
function rateOf({ status, body }: Answer): number {
  expect(status, JSON.stringify(body)).to.equal(201);
  const { xp, gems } = (body as EventAnswer).points;
  expect(xp!.added).to.equal(gems!.added);
  return xp!.added;
}

describe('A new configuration', () => {
  let world: World;
  let other: Service;
  let client: Client;
  let addresses: [string, string];
  let events = 0;

  before(async () => {
    world = await startWorld({ config: ratedConfig(1) });
    const settings = { ...world.settings, config: null };
    other = await startService({ settings, log: pino({ level: 'silent' }), print: () => undefined }, { api: true, worker: false });
    client = new Client(adminKey, 32);
    addresses = [world.address, other.address!];
  });
  after(async () => {
    client.close();
    await other.stop();
    await world.stop();
  });

  const send = (address: string): Promise<Answer> => {
    events += 1;
    return client.event(address, 'cards', { user: { id: `u${events % 20}` }, value: 1 });
  };
  const applyOn = (service: 'first' | 'other', rate: number): Promise<unknown> => {
    const text = ratedConfig(rate);
    if (service === 'first') return world.configure(text);
    return applyConfig(other.context, { name: 'other.yaml', text }, { prune: false, dryRun: false });
  };

  it('takes effect in every process as soon as one has applied it', async () => {
    for (let rate = 2; rate <= 12; rate += 1) {
      await applyOn(rate % 2 === 0 ? 'first' : 'other', rate);
      const answers = await Promise.all([...addresses, ...addresses].map(send));
      expect(answers.map(rateOf)).to.deep.equal([rate, rate, rate, rate]);
    }
  });

  it('counts every event once, whole, and by the rules of its moment, when it changes under load', async () => {
    const before = events;
    const answered: { eventId: string; rate: number; appliedBefore: number; appliedAfter: number }[] = [];
    /** The newest rate whose application has returned, and the newest whose application has begun. */
    let [applied, applying] = [12, 12];
    let going = true;
    const load = inParallel(32, async (index) => {
      while (going) {
        const appliedBefore = applied;
        const answer = await send(addresses[index % 2]!);
        answered.push({ eventId: (answer.body as EventAnswer).eventId, rate: rateOf(answer), appliedBefore, appliedAfter: applying });
      }
    });
    for (let rate = 13; rate <= 24; rate += 1) {
      const enough = answered.length + 150;
      await until('events under these rules', () => answered.length >= enough);
      applying = rate;
      await applyOn(rate % 2 === 0 ? 'first' : 'other', rate);
      applied = rate;
    }
    going = false;
    await load;
    for (const { rate, appliedBefore, appliedAfter } of answered) expect(rate).to.be.within(appliedBefore, appliedAfter);
    expect(new Set(answered.map(({ rate }) => rate)).size).to.be.at.least(10);
    await world.drain();
    expect(answered).to.have.lengthOf(events - before);
    const { rows } = await world.pool.query<{ event_id: string; awarded: number }>(
      `select event_id, awarded::int from awards join events on events.id = event_id where awards.system = (select min(system) from awards)`,
    );
    const stored = new Map(rows.map((row) => [row.event_id, row.awarded]));
    expect(rows).to.have.lengthOf(stored.size);
    for (const { eventId, rate } of answered) expect(stored.get(eventId)).to.equal(rate);
    const totals = await world.pool.query<{ events: number; counted: number }>(
      `select (select count(*)::int from events) as events, (select sum(total)::int from user_metrics) as counted`,
    );
    expect(totals.rows).to.deep.equal([{ events, counted: events }]);
  });

  it('fills a new leaderboard also when the write-behind could not be waited for at first', async () => {
    // Another worker that is gone holds the lease for longer than a read waits.
    await world.pool.query(
      `update stream_offsets set fence = fence + 1, holder = 'gone', lease_until = clock_timestamp() + interval '6 seconds'`,
    );
    await send(addresses[0]);
    const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'cards', start: '2020-01-01' };
    await world.configure(JSON.stringify({ leaderboards: [board] }));
    const rankings = async (): Promise<unknown[]> =>
      ((await world.get('/v1/leaderboards/board?limit=1000')).body as { rankings: unknown[] }).rankings;
    await until('the users with a value are on the leaderboard', async () => (await rankings()).length === 20);
  });
});

describe('laurel apply', () => {
  let stage: Stage;
  let client: Client;
  let address: string;
  let folder: string | undefined;

  before(async () => {
    stage = await setStage({ env: { CONFIG: await configFile(ratedConfig(1)) } });
    client = new Client(adminKey, 4);
    address = await serve(stage.env).address();
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
    if (folder !== undefined) await removeStores(folder);
  });

  const env = (): Record<string, string> => ({ ...stage.env, CONFIG: '' });
  const send = (): Promise<Answer> => client.event(address, 'cards', { user: { id: 'ana' }, value: 1 });
  async function stored(): Promise<unknown> {
    const { rows } = await stage.pool.query('select version, document from config_versions order by version');
    const { [metaFields.trimmed]: _trimmed, ...meta } = await stage.redis.hgetall(`${stage.partition}meta`);
    return { rows, meta };
  }

  it('applies a file to the running service, and does nothing the second time', async () => {
    expect(rateOf(await send())).to.equal(1);
    const file = await configFile(ratedConfig(7));
    const first = await runLaurel(['apply', file], env());
    expect([first.code, first.log]).to.deep.equal([0, '']);
    expect(first.output).to.include('Configuration version 2 is active.');
    expect(rateOf(await send())).to.equal(7);
    const before = await stored();
    const again = await runLaurel(['apply', file], env());
    expect([again.code, again.output]).to.deep.equal([0, `${file} changes nothing.\n`]);
    expect(await stored()).to.deep.equal(before);
    const { rows } = await stage.pool.query('select via, operation, configuration_version as version from audit_log');
    expect(rows).to.deep.equal([{ via: 'command', operation: 'apply', version: 2 }]);
  });

  it('prints with --dry-run what it would change, and changes nothing', async () => {
    const before = await stored();
    const { code, output } = await runLaurel(['apply', '--dry-run', await configFile(ratedConfig(9))], env());
    expect(code).to.equal(0);
    expect(output)
      .to.match(/xp-each.*7.*9/)
      .and.to.include('Nothing was changed: this was a dry run.');
    expect(await stored()).to.deep.equal(before);
    expect(rateOf(await send())).to.equal(7);
  });

  it('archives with --prune what the file leaves out, and brings it back with its data when the file has it again', async () => {
    const { total } = (await send()).body as EventAnswer;
    const all = await configFile(ratedConfig(7));
    const kept = await runLaurel(['apply', await configFile({ metrics: [{ key: 'other', name: 'Other' }] })], env());
    expect(kept.output).to.match(/not in the file, kept: .*cards/);
    expect((await send()).status).to.equal(201);
    expect((await runLaurel(['apply', '--prune', await configFile({ metrics: [{ key: 'other', name: 'Other' }] })], env())).code).to.equal(
      0,
    );
    expect((await send()).status).to.equal(404);
    expect((await runLaurel(['apply', '--prune', all], env())).code).to.equal(0);
    expect(((await send()).body as EventAnswer).total).to.equal(total + 2);
  });

  it('refuses a bad file with its mistakes by line, and changes nothing', async () => {
    const before = await stored();
    const file = await configFile('metrics:\n  - key: cards\n    name: Cards\n    unknown: 1\npoints:\n  - key: xp\n    name: 5\n');
    const { code, output, log } = await runLaurel(['apply', file], env());
    expect([code, output]).to.deep.equal([1, '']);
    const lines = log.trim().split('\n');
    expect(lines.some((line) => line.includes(`${basename(file)}:4`) && line.includes('unknown'))).to.be.true;
    expect(lines.some((line) => line.includes(`${basename(file)}:7`) && line.includes('name'))).to.be.true;
    const missing = await runLaurel(['apply', 'nowhere.yaml'], env());
    expect([missing.code, missing.log]).to.match(/^1,The configuration file nowhere.yaml can't be read: /);
    const latin = join(await mkdtemp(join(tmpdir(), 'laurel-latin-')), 'latin.yaml');
    await writeFile(latin, Buffer.from('metrics: [{ key: m, name: M\xe9 }]', 'latin1'));
    const unreadable = await runLaurel(['apply', latin], env());
    expect([unreadable.code, unreadable.log]).to.match(
      /^1,The configuration file \S+latin\.yaml is not UTF-8: save it in that encoding\.$/m,
    );
    expect(await stored()).to.deep.equal(before);
    expect(rateOf(await send())).to.equal(7);
  });

  describe('uses the clock of the services, whatever its own environment says:', () => {
    const hourly = JSON.stringify({
      metrics: [{ key: 'cards', name: 'Cards' }],
      points: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [{ key: 'hourly', type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' }],
        },
      ],
    });
    const start = (now: string | null): Promise<World> =>
      startWorld({ config: JSON.stringify({ metrics: [{ key: 'cards', name: 'Cards' }] }), now });
    async function apply({ settings, pool }: World, testClock: string): Promise<string> {
      const { redisUrl, redisPrefix, databaseUrl } = settings;
      const own = { REDIS_URL: redisUrl ?? '', REDIS_PREFIX: redisPrefix, DATABASE_URL: databaseUrl ?? '', TEST_CLOCK: testClock };
      const { code, log } = await runLaurel(['apply', await configFile(hourly)], own);
      expect([code, log]).to.deep.equal([0, '']);
      const { rows } = await pool.query<{ updated: string }>(
        `select document #>> '{pointsSystems,0,triggers,0,updated}' as updated from config_versions order by version desc limit 1`,
      );
      return rows[0]?.updated ?? '';
    }

    it('the test clock, so that time triggers pay nothing for the time before', async () => {
      const world = await start('2040-01-02T12:00:00.000Z');
      await track(world, 'cards', { user: 'ana', value: 1 });
      await world.setClock('2040-01-04T12:00:00.000Z');
      expect(await apply(world, '0')).to.equal('2040-01-04T12:00:00.000Z');
      await world.setClock('2040-01-04T14:30:00.000Z');
      expect((await readPoints(world, 'ana', 'xp')).total).to.equal(2);
      await world.stop();
    });

    it('the real one, where a test clock was set before the services went back to it', async () => {
      const world = await start(null);
      await world.redis.set(`${world.partition}clock`, Date.parse('2040-01-04T12:00:00.000Z'));
      const before = Date.now();
      expect(Date.parse(await apply(world, '1'))).to.be.within(before - 60_000, Date.now() + 60_000);
      await world.stop();
    });
  });

  it('works beside a service with local stores, which goes on with them', async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-apply-'));
    const local = { DATA_DIR: folder, ADMIN_API_KEY: adminKey, LOG_LEVEL: 'error' };
    const service = serve({ ...local, CONFIG: await configFile(ratedConfig(1)) });
    const localAddress = await service.address();
    const sendLocal = (): Promise<Answer> => client.event(localAddress, 'cards', { user: { id: 'ana' }, value: 1 });
    expect(rateOf(await sendLocal())).to.equal(1);
    const { code, output } = await runLaurel(['apply', await configFile(ratedConfig(3))], local);
    expect(code).to.equal(0);
    expect(output).to.include('Configuration version 2 is active.');
    expect(rateOf(await sendLocal())).to.equal(3);
    expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
  });
});
