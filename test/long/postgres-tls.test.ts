import { expect } from 'chai';
import { createPool, migrate } from '../../src/postgres/pool.js';
import { pemFile, startTls, type TlsOptions, type TlsStore } from '../support/tls.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

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

  const unknown = /unable to verify|self-signed/;

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

  const refused: readonly (readonly [when: string, server: TlsOptions, parameters: Readonly<Record<string, string>>, cause: RegExp])[] = [
    ['there is no sslrootcert', {}, { sslmode: 'verify-full' }, unknown],
    ['sslrootcert is of another authority', {}, { ...verified, sslrootcert: pemFile('other-ca') }, unknown],
    ['its certificate is for another name', { certificate: 'elsewhere' }, verified, /does not match certificate's altnames/],
    ['it asks for a certificate, and there is none', { asksForCertificate: true }, verified, /certificate required/],
    ['sslrootcert can’t be read', {}, { ...verified, sslrootcert: '/nowhere/ca.pem' }, /ENOENT/],
  ];
  for (const [when, options, parameters, cause] of refused) {
    it(`refuses, and has said nothing to Postgres, when ${when}`, async () => {
      const { url, said } = await start(options);
      const error: unknown = await migrate(url + query(parameters), () => undefined).catch((thrown: unknown) => thrown);
      expect(error).to.have.property('name', 'OperatorError');
      expect((error as Error).message)
        .to.match(/^Postgres does not answer: .*DATABASE_URL/s)
        .and.match(cause);
      expect(said()).to.equal(0);
    });
  }
});
