import { once } from 'node:events';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Announcement, messagesAbout, parseAnnouncement } from '../../src/live/announcement.js';
import { Announcer } from '../../src/live/announcer.js';
import type { LedgerEntry } from '../../src/ledger/entry.js';
import type { StreamEntry } from '../../src/ledger/stream-entries.js';
import { channelNames } from '../../src/redis/contract.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, track, until } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'other', name: 'Other' },
  ],
  leaderboards: [
    { key: 'all', name: 'All', status: 'active', start: '2039-01-01', rankBy: 'metric', metricKey: 'm' },
    {
      key: 'cities',
      name: 'Cities',
      status: 'active',
      start: '2039-01-01',
      rankBy: 'metric',
      metricKey: 'm',
      breakdownAttributes: ['city'],
    },
    {
      ...{ key: 'days', name: 'Days', status: 'active', start: '2040-01-01', rankBy: 'metric', metricKey: 'other' },
      ...{ runUnit: 'day', runInterval: 1 },
    },
  ],
};

describe('The write-behind announces to live streams', () => {
  let world: World;
  let boards: ReadonlyMap<string, number>;
  const heard: Announcement[] = [];
  let subscriber: Redis | undefined;
  before(async () => {
    world = await startWorld({ config: configText(config) });
    const { leaderboards } = await world.engine.config(world.tenant);
    boards = new Map([...leaderboards.values()].map(({ key, no }) => [key, no]));
    subscriber = world.redis.duplicate();
    subscriber.on('message', (_channel: string, message: string) => heard.push(parseAnnouncement(message)));
    await subscriber.subscribe(world.partition + channelNames.live);
    await track(world, 'other', { user: 'first', value: 1 });
    await world.drain();
  });
  after(async () => {
    subscriber?.disconnect();
    await world.stop();
  });

  /** What is announced because of some work, once a message fits. */
  async function announced(work: () => Promise<unknown>, fits: (changes: Announcement['changes']) => boolean): Promise<void> {
    // It holds for a while only.
    await world.redis.publish(world.partition + channelNames.watched, '');
    heard.length = 0;
    await work();
    await until('it is announced', () => Promise.resolve(heard.some(({ changes }) => fits(changes))));
  }

  const moved = (changes: Announcement['changes'], board: string, group: string | null, user?: string): boolean =>
    changes?.boards.some(
      (change) =>
        change.no === boards.get(board) && change.group === group && (user === undefined || change.users?.includes(user) === true),
    ) === true;

  it('nothing as long as no process watches the tenant, and then that anything may have changed', async () => {
    expect(heard).to.deep.equal([]);
    await announced(
      () => world.redis.publish(world.partition + channelNames.watched, ''),
      (changes) => changes === undefined,
    );
  });

  it('the leaderboards, groups and users that an event changed, and no others', async () => {
    const user = { id: 'ana', attributes: { city: 'Lisbon' } };
    await announced(
      () => track(world, 'm', { user, value: 5 }),
      (changes) =>
        moved(changes, 'all', '', 'ana') &&
        moved(changes, 'cities', '6:Lisbon', 'ana') &&
        !moved(changes, 'days', '') &&
        changes?.profiles.includes('ana') === true,
    );
    await announced(
      () => track(world, 'm', { user: 'ana', value: 1 }),
      (changes) => moved(changes, 'all', '', 'ana') && changes?.profiles.length === 0,
    );
  });

  it('both groups of a user who moves', async () => {
    await announced(
      async () => bodyOf(await world.request('PATCH', '/v1/users/ana', { body: { attributes: { city: 'Porto' } } }), 200),
      (changes) => moved(changes, 'cities', '6:Lisbon', 'ana') && moved(changes, 'cities', '5:Porto', 'ana'),
    );
  });

  it('all groups of a run that becomes final', async () => {
    await announced(
      () => world.setClock('2040-01-04T12:00:00Z'),
      (changes) => moved(changes, 'days', null),
    );
  });

  it('that anything may have changed, once it can again after a message could not be published', async () => {
    const redis = world.redis.duplicate({ lazyConnect: true, enableOfflineQueue: false });
    await redis.connect();
    const announcer = new Announcer(redis, () => world.partition);
    const everything = (): number => heard.filter(({ changes }) => changes === undefined).length;
    let calls = 0;
    const watched = async (): Promise<number> => {
      calls += 1;
      const to = `call ${calls}`;
      announcer.watched(world.tenant, '');
      await redis.publish(world.partition + channelNames.live, JSON.stringify({ upTo: '0-0', users: [], to }));
      await until('it is announced', () => Promise.resolve(heard.at(-1)?.to === to));
      return everything();
    };
    heard.length = 0;
    expect([await watched(), await watched()]).to.deep.equal([1, 1]);
    redis.disconnect();
    await once(redis, 'end');
    announcer.announce(world.tenant, '1-0', []);
    await redis.connect();
    const count = await watched();
    redis.disconnect();
    expect(count).to.equal(2);
  });

  it('the user, when one is deleted', async () => {
    await world.redis.publish(world.partition + channelNames.watched, '');
    expect((await world.request('DELETE', '/admin/v1/users/ana')).status).to.be.below(300);
    await until('it is announced', () => Promise.resolve(heard.some(({ deleted }) => deleted.includes('ana'))));
  });
});

describe('A message for live streams', () => {
  const nobody = (): boolean => false;
  const announcementsOf = (entries: readonly StreamEntry[], isWatched: (user: string) => boolean = nobody): Announcement[] =>
    messagesAbout('0-0', entries, isWatched).map(parseAnnouncement);
  const entry = (user: string): StreamEntry => ({
    ...{ id: `${user}-0`, fields: [Buffer.from('e'), Buffer.from(user)], problem: '' },
    entry: { kind: 'settle', id: '', user, at: 0, day: 0, rev: 1, points: [], state: [], boards: [{ no: 1, run: 0, threshold: 0 }] },
  });

  it('says that anything may have changed when it would name too many users', () => {
    const some = Array.from({ length: limits.maxAnnouncedUsers }, (_, i) => entry(String(i)));
    expect(announcementsOf(some)[0]?.changes?.boards[0]?.users).to.have.length(limits.maxAnnouncedUsers);
    const [announcement] = announcementsOf([...some, entry('one more')]);
    expect([announcement?.upTo, announcement?.changes]).to.deep.equal(['one more-0', undefined]);
  });

  it('says so when it would name users too often, each on many leaderboards', () => {
    const boards = Array.from({ length: 100 }, (_, i) => ({ no: i, run: 0, threshold: 0 }));
    const onMany = (user: string): StreamEntry => {
      const one = entry(user);
      return { ...one, entry: { ...one.entry, boards } as LedgerEntry };
    };
    const some = Array.from({ length: limits.maxAnnouncedMoves / 100 }, (_, i) => onMany(String(i)));
    expect(announcementsOf(some)[0]?.changes?.boards).to.have.length(100);
    expect(announcementsOf([...some, onMany('one more')])[0]?.changes).to.equal(undefined);
  });

  it('says so for an entry that can’t be parsed or is damaged, and for a message of another version', () => {
    const damaged = { kind: 'settle', user: 'ana' } as unknown as LedgerEntry;
    for (const bad of [undefined, damaged]) {
      expect(announcementsOf([{ ...entry('ana'), entry: bad }]).map(({ changes }) => changes)).to.deep.equal([undefined]);
    }
    for (const text of ['', 'x', '[]', '{"upTo":1}']) expect(parseAnnouncement(text).changes).to.equal(undefined);
  });

  it('has the entries of users who are watched, and of no others', () => {
    const entries = announcementsOf([entry('ana'), entry('ben')], (user) => user === 'ana').flatMap((announcement) => announcement.entries);
    expect(entries).to.deep.equal([{ id: 'ana-0', facts: Buffer.from('ana') }]);
  });

  it('is one of several when the entries of watched users are large, and names what has changed once', () => {
    const facts = Buffer.alloc(limits.maxAnnouncedChars / 4, 'x');
    const large = ['a', 'b', 'c', 'd'].map((user) => ({ ...entry(user), fields: [Buffer.from('e'), facts] }));
    const announcements = announcementsOf(large, () => true);
    expect(announcements.map(({ entries }) => entries.map(({ id }) => id))).to.deep.equal([
      ['a-0', 'b-0'],
      ['c-0', 'd-0'],
    ]);
    expect(announcements.map(({ changes }) => changes?.boards.length)).to.deep.equal([1, 0]);
    expect(announcements.map(({ after, upTo }) => [after, upTo])).to.deep.equal([
      ['0-0', 'b-0'],
      ['b-0', 'd-0'],
    ]);
  });

  it('has the users who were deleted, also where too many others would be named, and not their entries', () => {
    const gone: StreamEntry = { ...entry('gone'), entry: { kind: 'deletion', id: '', user: 'gone', at: 0 } };
    const many = Array.from({ length: limits.maxAnnouncedUsers + 1 }, (_, i) => entry(String(i)));
    for (const entries of [[gone], [...many, gone]]) {
      const [announcement] = announcementsOf(entries, (user) => user === 'gone');
      expect([announcement?.deleted, announcement?.entries]).to.deep.equal([['gone'], []]);
    }
  });
});
