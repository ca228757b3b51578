import { expect } from 'chai';
import { readFile, writeFile } from 'node:fs/promises';
import { corpusFile, Player, readRecord, readRequests, recordText, type Recorded } from '../support/corpus.js';
import { type MailServer, startMailServer } from '../support/mail-server.js';
import { apis } from '../support/reference.js';
import { startWorld, type World, type WorldOptions } from '../support/world.js';

/**
 * Recorded responses, byte for byte: a refactoring must not change them. The rules have tests of their own; this one finds a field that is
 * lost, renamed or moved, a header, and an escape. Each operation has a success, every field of its responses occurs, and each status of
 * an error has a case. Other errors are here if no other test has their sentence. More requests are there only for the state that these need.
 *
 * After an intended change, record again and read the diff before you commit it:
 *
 *     RECORD_CORPUS=1 npx mocha test/api/corpus.test.ts
 *
 * For a new operation or field, add one request to `service.requests.txt` at a place where the response has the field, then record again.
 * A request near the end renumbers the fewest ids (`uuid-12` is the twelfth id in order of appearance).
 */
const isRecording = process.env['RECORD_CORPUS'] === '1';

/** Services by the names of their files: most requests go to a usual one. */
const services: Readonly<Record<string, Omit<WorldOptions, 'config'>>> = {
  service: { settings: { corsOrigins: ['https://app.example.com'], messages: 'log', emailFrom: 'Laurel <laurel@example.com>' } },
  confirmation: {
    settings: {
      messages: 'log',
      emailFrom: 'Laurel <laurel@example.com>',
      publicUrl: 'https://laurel.example.com',
      confirmAddresses: true,
    },
  },
  'rate-limit': { settings: { rateLimit: 4, rateLimitWindowS: 600 }, roles: { api: true, worker: false } },
  'full-ledger': { settings: { maxLedgerEntries: 5 }, roles: { api: true, worker: false } },
};

/** What the requests need besides requests. */
const stepsOf = ({ pool }: World): Record<string, () => Promise<unknown>> => ({
  'Postgres refuses the value 666': () => pool.query('alter table events add constraint no_poison check (value <> 666)'),
  'Postgres takes the value 666': () => pool.query('alter table events drop constraint no_poison'),
  'Postgres refuses the value 667': () => pool.query('alter table events add constraint no_poison check (value <> 667)'),
  'Postgres takes the value 667': () => pool.query('alter table events drop constraint no_poison'),
});

describe('The recorded responses', () => {
  const answered: Recorded[] = [];
  let mail: MailServer;
  before(async () => {
    mail = await startMailServer();
  });
  after(() => mail.stop());

  for (const [name, options] of Object.entries(services)) {
    it(`of ${name} are unchanged`, async () => {
      const settings = { ...options.settings, smtpUrl: mail.url };
      const world = await startWorld({ ...options, settings, config: await readFile(corpusFile('config.yaml'), 'utf8') });
      const player = new Player(world, stepsOf(world));
      try {
        await player.play(await readRequests(name));
      } finally {
        player.stop();
        await world.stop();
      }
      answered.push(...player.recorded);
      const now = recordText(player.recorded);
      if (isRecording) await writeFile(corpusFile(`${name}.answers.txt`), [...now.values()].join(''));
      const before = await readRecord(name);
      for (const [request, text] of now) expect(text, request).to.equal(before.get(request));
      expect([...now.keys()]).to.deep.equal([...before.keys()]);
    });
  }

  it('include a success of every operation and every error status that a request can get', () => {
    const succeeded = new Set(answered.filter(({ status }) => status < 300).map(({ operation }) => operation));
    const operations = apis.flatMap(([, , routes]) => routes.map(({ operation }) => operation));
    expect(operations.filter((operation) => !succeeded.has(operation))).to.deep.equal([]);
    const errors = new Set(answered.map(({ status }) => status).filter((status) => status >= 400));
    expect([...errors].sort()).to.deep.equal([400, 401, 403, 404, 405, 409, 413, 422, 429, 503]);
  });

  it('have the names, required fields, types and integers of the hosted service’s contract', () => {
    expect(answered.flatMap(({ contractProblems }) => contractProblems)).to.deep.equal([]);
  });
});
