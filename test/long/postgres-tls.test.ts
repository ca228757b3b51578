import { expect } from 'chai';
import { migrate } from '../../src/postgres/migrate.js';
import { createPool } from '../../src/postgres/pool.js';
import { pemFile, startTls, type TlsOptions, type TlsStore } from '../support/tls.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

/** What it refuses is in postgres-problems.test.ts. */
describe('TLS to Postgres', () => {
  let database: TestDatabase;
  let postgres: TlsStore | undefined;
  before(async () => {
    database = await freshDatabase();
  });
  afterEach(() => postgres?.stop());
  after(() => database.drop());

  const start = async (options: TlsOptions = {}): Promise<TlsStore> => (postgres = await startTls(database.url, options));
  const query = (parameters: Readonly<Record<string, string>>): string => `?${new URLSearchParams(parameters).toString()}`;
  const verified = { sslmode: 'verify-full', sslrootcert: pemFile('ca') };
  const client = { sslcert: pemFile('client'), sslkey: pemFile('client.key') };

  const taken: readonly (readonly [when: string, server: TlsOptions, parameters: Readonly<Record<string, string>>])[] = [
    ['the authority of sslrootcert has signed its certificate', {}, verified],
    ['it asks for a certificate, and gets that of sslcert', { asksForCertificate: true }, { ...verified, ...client }],
  ];
  for (const [when, options, parameters] of taken) {
    it(`connects when ${when}`, async () => {
      const { url, said } = await start(options);
      await migrate(url + query(parameters), () => undefined);
      const pool = createPool(url + query(parameters), 1, () => undefined);
      const { rows } = await pool.query('select 1 as one').finally(() => pool.end());
      expect(rows).to.deep.equal([{ one: 1 }]);
      expect(said()).to.be.greaterThan(0);
    });
  }
});
