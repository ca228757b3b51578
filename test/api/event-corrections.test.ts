import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { trackCall } from '../../src/engine/events.js';
import { outcomes } from '../../src/redis/contract.js';
import { correctionKey } from '../../src/redis/encoding.js';
import { bodyOf, configText, read, track, userPath } from '../support/answers.js';
import { errorOf } from '../support/admin.js';
import { differences } from '../support/differences.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const device = { key: 'device', name: 'Device', type: 'event' };
const config = { settings: { idempotencyRetentionDays: 1 }, attributes: [device], metrics: [{ key: 'm', name: 'M' }] };

interface Correction {
  readonly eventId: string;
  readonly corrects: string;
  readonly value: number;
  readonly idempotentReplayed: boolean;
}
interface Entry {
  readonly id: string;
  readonly value: number;
  readonly total: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | null;
  readonly corrects?: string;
}

describe('Corrections of events', () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld({ config: configText(config) });
  });
  afterEach(() => world.stop());

  const correct = (user: string, event: string): Promise<Reply> =>
    world.request('POST', `/admin/v1/users/${user}/events/${event}/correction`);
  const timeline = async (user: string): Promise<readonly Entry[]> =>
    (await read<{ entries: Entry[] }>(world, `/admin/v1/users/${user}/timeline`)).entries;
  const totalOf = async (user: string): Promise<number> => (await read<{ current: number }>(world, `/v1/users/${user}/metrics/m`)).current;

  it('are events of their own, shown as such in the timeline and in the audit log', async () => {
    const { eventId } = await track(world, 'm', { user: 'ana', value: 4.5, attributes: { device: 'phone' }, key: 'once' });
    const correction = bodyOf<Correction>(await correct('ana', eventId), 201);
    expect(correction).to.deep.equal({ eventId: correction.eventId, corrects: eventId, value: -4.5, idempotentReplayed: false });
    const entries = await timeline('ana');
    const found = entries.find(({ id }) => id === correction.eventId);
    expect(found).to.deep.include({ value: -4.5, total: 0, attributes: { device: 'phone' }, idempotencyKey: null, corrects: eventId });
    const original = entries.find(({ id }) => id === eventId);
    expect(original).to.include({ value: 4.5, idempotencyKey: 'once' });
    expect(original).to.not.have.property('corrects');
    const { entries: audit } = await read<{ entries: { operation: string; summary: string; users: string[] }[] }>(
      world,
      '/admin/v1/audit-log',
    );
    expect(audit[0]).to.deep.include({ operation: 'admin_users_events_correct', summary: '1 event corrected', users: ['ana'] });
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('are made once, even when several are asked for at once, and after keys have expired', async () => {
    const { eventId } = await track(world, 'm', { user: 'ana', value: 4 });
    const replies = await Promise.all(Array.from({ length: 5 }, () => correct('ana', eventId)));
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([200, 200, 200, 200, 201]);
    const ids = new Set(replies.map(({ body }) => (body as Correction).eventId));
    expect(ids.size).to.equal(1);
    expect(bodyOf<Correction>(await correct('ana', eventId.toUpperCase()), 200)).to.include({ eventId: [...ids][0], corrects: eventId });
    await world.setClock('2040-01-09T12:00:00Z');
    const later = bodyOf<Correction>(await correct('ana', eventId), 200);
    expect(later).to.deep.equal({ eventId: [...ids][0], corrects: eventId, value: -4, idempotentReplayed: true });
    expect(await totalOf('ana')).to.equal(0);
  });

  it('leave out attributes that have been archived since', async () => {
    const { eventId } = await track(world, 'm', { user: 'ana', value: 4, attributes: { device: 'phone' } });
    await world.configure(configText({ ...config, attributes: [] }), { prune: true });
    const { eventId: made } = bodyOf<Correction>(await correct('ana', eventId), 201);
    expect((await timeline('ana')).find(({ id }) => id === made)?.attributes).to.deep.equal({});
  });

  it('refuse what cannot be corrected', async () => {
    const { eventId } = await track(world, 'm', { user: 'ana', value: 4 });
    const { eventId: zero } = await track(world, 'm', { user: 'ana', value: 0 });
    await track(world, 'm', { user: 'ben', value: 1 });
    const { eventId: made } = bodyOf<Correction>(await correct('ana', eventId), 201);
    const refused: readonly (readonly [user: string, event: string, status: number, error: RegExp])[] = [
      ['ana', zero, 422, /value of the event is 0/],
      ['ana', made, 422, /correction cannot be corrected/],
      ['ben', eventId, 404, /no event/],
      ['nobody', eventId, 404, /no event/],
      ['ana', '00000000-0000-4000-8000-000000000000', 404, /no event/],
      ['ana', 'first', 422, /UUID/],
    ];
    for (const [user, event, status, error] of refused) {
      const reply = await correct(user, event);
      expect(reply.status, `${user} ${event}`).to.equal(status);
      expect(errorOf(reply)).to.match(error);
    }
  });

  it('do not create a user who has been deleted since the event was read', async () => {
    const idempotencyKey = correctionKey(randomUUID());
    const request = { metricKey: 'm', user: { id: 'gone' }, value: -4, attributes: undefined, idempotencyKey };
    const { outcome } = await world.engine.call(world.tenant, 'track', (active) => trackCall(active, request, randomUUID()));
    expect(outcome).to.equal(outcomes.userUnknown);
    expect((await world.get(userPath('gone'))).status).to.equal(404);
  });

  it('are refused while the metric is archived', async () => {
    const { eventId } = await track(world, 'm', { user: 'ana', value: 4 });
    await world.configure(configText({ ...config, metrics: [{ key: 'other', name: 'Other' }] }), { prune: true });
    expect((await correct('ana', eventId)).status).to.equal(404);
  });
});
