import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { bodyOf, configText } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: [
    { key: 'open', name: 'Open', status: 'active', rankBy: 'metric', metricKey: 'm' },
    { key: 'hidden', name: 'Hidden', rankBy: 'metric', metricKey: 'm' },
  ],
};

interface Token {
  readonly token: string;
  readonly expires: string;
}

describe('A live token', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  const create = (body: object, key?: string) => world.request('POST', '/v1/live-tokens', { body, ...(key === undefined ? {} : { key }) });

  /** Creates an application key of a user. */
  async function keyOf(userId: string, limits: object = {}): Promise<string> {
    const { created } = bodyOf<{ created: { key: string }[] }>(
      await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId, ...limits }] }),
      201,
    );
    return created[0]!.key;
  }

  it('is valid for an hour, or for as long as was asked', async () => {
    for (const [body, seconds] of [
      [{ leaderboards: ['open'] }, 3_600],
      [{ leaderboards: ['open'], expiresInS: 60 }, 60],
    ] as const) {
      const askedAt = Date.now();
      const reply = await create(body);
      expect(reply.status).to.equal(201);
      const { token, expires } = reply.body as Token;
      expect(Date.parse(expires) - askedAt).to.be.within((seconds - 2) * 1_000, (seconds + 5) * 1_000);
      expect(decodeJwt(token).exp).to.equal(Date.parse(expires) / 1_000);
    }
  });

  it('is valid for no longer than its key', async () => {
    const expires = new Date(Date.now() + 100_000);
    const reply = await create({ leaderboards: ['open'] }, await keyOf('ana', { expires: expires.toISOString() }));
    expect(Date.parse((reply.body as Token).expires)).to.be.within(expires.getTime() - 1_000, expires.getTime());
  });

  const refused: readonly (readonly [what: string, body: object, status: number])[] = [
    ['nothing', {}, 422],
    ['an empty list', { leaderboards: [] }, 422],
    ['more leaderboards than 20', { leaderboards: Array.from({ length: 21 }, () => 'open') }, 422],
    ['a leaderboard that does not exist', { leaderboards: ['open', 'nothing'] }, 404],
    ['a leaderboard that is not active', { leaderboards: ['hidden'] }, 404],
    ['more than an hour', { leaderboards: ['open'], expiresInS: 3_601 }, 422],
    ['no time', { leaderboards: ['open'], expiresInS: 0 }, 422],
    ['part of a second', { leaderboards: ['open'], expiresInS: 1.5 }, 422],
  ];
  for (const [what, body, status] of refused) {
    it(`is not created for ${what}`, async () => {
      expect((await create(body)).status).to.equal(status);
    });
  }

  it('is created for its own user alone with an application key', async () => {
    const key = await keyOf('ana');
    expect((await create({ userId: 'ana' }, key)).status).to.equal(201);
    expect((await create({ userId: 'ben' }, key)).status).to.equal(403);
    expect((await create({ userId: 'ben' })).status).to.equal(201);
  });

  it('is created only with a key that may read', async () => {
    expect((await create({ leaderboards: ['open'] }, await keyOf('ana', { permissions: ['events'] }))).status).to.equal(403);
    expect((await create({ leaderboards: ['open'] }, await keyOf('ana', { permissions: ['read'] }))).status).to.equal(201);
  });
});
