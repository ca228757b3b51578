import { expect } from 'chai';
import { startWorld, type World } from './support/world.js';

/** What this test looks at of the contract's `EventResponse`. */
interface EventBody {
  readonly points: { readonly points: { readonly total: number; readonly added: number; readonly level: { readonly key: string } } };
  readonly leaderboards: Readonly<Record<string, object>>;
}

describe('an event', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  it('is answered with everything that it changed, and kept in Postgres', async () => {
    const reply = await world.event('flashcards-viewed', { user: { id: 'ana', name: 'Ana' }, value: 5 }, { 'idempotency-key': 'a' });
    const body = reply.body as EventBody;
    expect(reply.status).to.equal(201);
    expect(body).to.include({ total: 5, idempotentReplayed: false, idempotencyKey: 'a' });
    expect(body.points.points).to.include({ total: 10, added: 10 });
    expect(body.points.points.level.key).to.equal('novice');
    expect(body.leaderboards['all-time']).to.include({ rank: 1, previousRank: null, threshold: 0 });
    await world.drain();
    const { rows } = await world.pool.query('select user_id, total, idempotency_key from events');
    expect(rows).to.deep.equal([{ user_id: 'ana', total: 5, idempotency_key: 'a' }]);
  });
});
