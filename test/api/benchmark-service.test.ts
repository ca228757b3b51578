import { expect } from 'chai';
import { inOwnTenant } from '../../benchmarks/servers/running-service.js';
import type { Subject } from '../../benchmarks/servers/subject.js';
import { adminKey, startWorld, type World } from '../support/world.js';

const config = JSON.stringify({ metrics: [{ key: 'm', name: 'M' }] });
const customer = 'laurel-benchmark';

describe('A benchmark of a running service', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: JSON.stringify({ metrics: [{ key: 'other', name: 'Other' }] }) });
  });
  after(() => world.stop());

  const users = ['user-1', 'user-2', 'user-3'];
  const measured = (work: (subject: Subject) => Promise<void>, signal = new AbortController().signal): Promise<string> => {
    const printed: string[] = [];
    const print = (line: string): void => void printed.push(line);
    return inOwnTenant({ url: world.address, apiKey: adminKey }, { config, users, signal, print }, work).then(() => printed.join());
  };
  const send = (tenant: string, user: string): Promise<{ status: number }> =>
    world.event('m', { user: { id: user }, value: 1 }, { 'tenant-id': tenant });
  /** Statuses and customers of all tenants, and how many users each has. */
  const tenants = async (): Promise<unknown[]> => {
    const { rows } = await world.pool.query<{ row: unknown[] }>(
      `select array[customer_id, status, (select count(*) from users u where u.tenant = t.no)::text] as row
        from tenants t where no <> 1 order by no`,
    );
    return rows.map(({ row }) => row);
  };

  it('runs in a tenant of its own with the configuration, and leaves nothing', async () => {
    await measured(async ({ tenant = '', settle }) => {
      for (const user of users.slice(1)) expect((await send(tenant, user)).status).to.equal(201);
      await settle();
      expect(await tenants()).to.deep.equal([[customer, 'active', '2']]);
    });
    expect(await tenants()).to.deep.equal([[customer, 'archived', '0']]);
  });

  it('leaves nothing when it fails', async () => {
    const failed = measured(async ({ tenant = '' }) => {
      await send(tenant, 'user-1');
      throw new Error('It has failed.');
    });
    expect(String(await failed.catch((error: unknown) => error))).to.equal('Error: It has failed.');
    expect((await tenants()).at(-1)).to.deep.equal([customer, 'archived', '0']);
  });

  it('archives the tenant when it is interrupted, and says that its users are left', async () => {
    const interrupted = new AbortController();
    const printed = await measured(async ({ tenant = '', settle }) => {
      await send(tenant, 'user-1');
      await settle();
      interrupted.abort();
    }, interrupted.signal);
    expect(printed).to.match(/^The users of tenant .*, which is archived, are still in the stores.$/);
    expect((await tenants()).at(-1)).to.deep.equal([customer, 'archived', '1']);
  });

  it('replaces a tenant without users, and refuses one that has users', async () => {
    const create = async (): Promise<void> => {
      const { status } = await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: customer, name: 'Left' }] });
      expect(status).to.equal(201);
    };
    await create();
    await measured(() => Promise.resolve());
    expect((await tenants()).slice(-2)).to.deep.equal([
      [customer, 'archived', '0'],
      [customer, 'archived', '0'],
    ]);

    await create();
    const applied = await world.request('POST', '/admin/v1/configuration/apply', {
      body: { file: config },
      headers: { 'tenant-id': customer },
    });
    expect([applied.status, (await send(customer, 'ana')).status]).to.deep.equal([200, 201]);
    const refused = await measured(() => Promise.reject(new Error('It has begun.'))).catch((error: unknown) => error);
    expect(String(refused)).to.include(`The tenant ${customer} of ${world.address} has users: archive it`);
    expect((await tenants()).at(-1)).to.deep.equal([customer, 'active', '1']);
  });
});
