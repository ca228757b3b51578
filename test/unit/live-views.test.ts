import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { type Announcement, type BoardChange, noEntry } from '../../src/live/announcement.js';
import type { BoardState } from '../../src/live/board-changes.js';
import { BoardView } from '../../src/live/board-view.js';
import { inSlices } from '../../src/live/slices.js';
import { UserView } from '../../src/live/user-view.js';
import { ViewIndex } from '../../src/live/view-index.js';
import { limits } from '../../src/shared/limits.js';
import { parseMessages } from '../support/event-stream.js';
import { boardState } from '../support/live-states.js';
import { until } from '../support/stage.js';

const users = ['a', 'b', 'c', 'd', 'e'];
const groups = ['', '1:x', '1:y'];

interface Shown {
  readonly no: number;
  readonly group: string;
  /** The first day of its run; null for the current one. */
  readonly run: number | null;
  /** The users of a list; null for a page, which shows `rows`. */
  readonly userIds: readonly string[] | null;
  readonly rows: readonly string[];
}

/** A view, what its next read returns, and how often it has been read. */
interface Played {
  readonly view: BoardView;
  next: Shown;
  reads: number;
  failsWith?: Error | undefined;
}

function viewOf(shown: Shown, onPlace: () => void = () => undefined): Played {
  const at: Played = {
    next: shown,
    reads: 0,
    view: new BoardView({
      ...{ tenant: 1, key: 'l', onPlace, onFailure: () => true, onChange: () => undefined },
      query: {
        ...{ offset: 0, limit: 10, userId: undefined, userAttributes: new Map<string, string>() },
        ...{ run: shown.run === null ? undefined : '2040-01-01', userIds: shown.userIds ?? undefined },
      },
      read: (): Promise<BoardState> => {
        at.reads += 1;
        const { next, failsWith } = at;
        if (failsWith) return nextTurn().then(() => Promise.reject(failsWith));
        const state = boardState(
          next.rows.map((userId, i) => ({ userId, userName: null, rank: i + 1, value: at.reads })),
          { run: next.run ?? 0 },
        );
        return Promise.resolve({ ...state, board: { ...state.board, no: next.no }, group: next.group });
      },
    }),
  };
  return at;
}

const shownArbitrary: fc.Arbitrary<Shown> = fc.record({
  no: fc.integer({ min: 1, max: 3 }),
  group: fc.constantFrom(...groups),
  run: fc.constantFrom(null, 7, 14),
  userIds: fc.option(fc.subarray(users, { minLength: 1 })),
  rows: fc.subarray(users),
});

const changeArbitrary: fc.Arbitrary<BoardChange> = fc.record({
  no: fc.integer({ min: 1, max: 3 }),
  run: fc.constantFrom(7, 14),
  group: fc.constantFrom(null, ...groups),
  users: fc.option(fc.subarray(users, { minLength: 1 })),
});

describe('The views that an announcement touches', () => {
  /** By the definition: all views, one after the other. */
  function isAffected({ no, group, run, userIds, rows }: Shown, { changes, deleted }: Announcement): boolean {
    if (!changes) return true;
    const lists = (some: readonly string[]): boolean => userIds?.some((user) => some.includes(user)) === true;
    const moved = changes.boards.some(
      (change) =>
        change.no === no &&
        (change.group === null || change.group === group) &&
        (run === null || change.run === run) &&
        (userIds === null || change.group === null || change.users === null || lists(change.users)),
    );
    const renamed = userIds ? lists(changes.profiles) : rows.some((user) => changes.profiles.includes(user));
    return moved || renamed || (userIds ? lists(deleted) : deleted.length > 0);
  }

  it('are those that may show it, also after a leaderboard was replaced by another one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(shownArbitrary, fc.option(shownArbitrary), fc.boolean()), { maxLength: 8 }),
        fc.option(fc.record({ boards: fc.array(changeArbitrary, { maxLength: 3 }), profiles: fc.subarray(users) }), { freq: 9 }),
        fc.subarray(users, { maxLength: 1 }),
        async (plans, changes, deleted) => {
          const index = new ViewIndex();
          const [names, expected] = [new Map<BoardView, number>(), [] as number[]];
          const announcement: Announcement = {
            after: undefined,
            upTo: noEntry,
            changes: changes ?? undefined,
            deleted,
            entries: [],
            joined: [],
            to: undefined,
          };
          for (const [name, [first, later, isDropped]] of plans.entries()) {
            const at: Played = viewOf(first, () => index.update(at.view));
            names.set(at.view, name);
            index.add(at.view);
            await at.view.open();
            // The parameters of a view stay what they are.
            const now = later ? { ...later, run: first.run, userIds: first.userIds } : first;
            at.next = now;
            at.view.touch(undefined);
            await at.view.open();
            if (isDropped) index.delete(at.view);
            else if (isAffected(now, announcement)) expected.push(name);
          }
          expect([...index.affected(announcement)].map((view) => names.get(view))).to.have.members(expected);
        },
      ),
    );
  });

  it('are also those that have not been read, or can’t be', async () => {
    const index = new ViewIndex();
    const at: Played = viewOf({ no: 1, group: '', run: null, userIds: null, rows: [] }, () => index.update(at.view));
    index.add(at.view);
    const other: Announcement = {
      ...{ after: undefined, upTo: noEntry, deleted: [], entries: [], joined: [], to: undefined },
      changes: { boards: [{ no: 9, run: 0, group: '', users: ['a'] }], profiles: [] },
    };
    const affected = (): number => [...index.affected(other)].length;
    expect(affected()).to.equal(1);
    await at.view.open();
    expect(affected()).to.equal(0);
  });
});

describe('A view of a leaderboard', () => {
  const page: Shown = { no: 1, group: '', run: null, userIds: null, rows: ['a'] };

  /** A watcher that keeps what it gets. */
  function watcher(lastId?: string) {
    const one = {
      got: [] as Buffer[],
      lastId,
      isOver: false,
      send: (bytes: Buffer, id: string): void => {
        one.got.push(bytes);
        one.lastId = id;
      },
      end: (): void => void (one.isOver = true),
    };
    return one;
  }

  it('is not read while no connection watches it, and is current for the next one', async () => {
    const at = viewOf(page);
    await at.view.open();
    for (let i = 0; i < 3; i += 1) at.view.touch('1-0');
    expect(at.reads).to.equal(1);
    await at.view.open();
    expect(at.reads).to.equal(2);
    const one = watcher();
    at.view.join(one);
    expect(String(one.got[0])).to.include('"value":2');
    at.view.stop();
  });

  it('sends what has changed to those who watched then, and the new state to who joins meanwhile', async () => {
    const at = viewOf(page);
    await at.view.open();
    const many = Array.from({ length: 100 }, () => watcher());
    for (const one of many) at.view.join(one);
    at.view.touch('1-0');
    await until('the change is read', () => at.reads === 2);
    const late = watcher();
    await until('the change is sent', () => many.every(({ got }) => got.length === 2));
    at.view.join(late);
    expect(late.got).to.have.length(1);
    expect(parseMessages(String(many[0]?.got[1])).map(({ id }) => id)).to.deep.equal(
      parseMessages(String(late.got[0])).map(({ id }) => id),
    );
    at.view.stop();
  });

  it('sends the new state to who lacks the state before, instead of a change that does not apply to it', async () => {
    const at = viewOf(page);
    await at.view.open();
    const [current, behind] = [watcher(), watcher()];
    for (const one of [current, behind]) at.view.join(one);
    behind.lastId = 'earlier';
    at.view.touch('1-0');
    await until('both have the new state', () => current.got.length === 2 && behind.got.length === 2);
    const eventsOf = ({ got }: typeof current) => got.flatMap((bytes) => parseMessages(String(bytes)).map(({ event }) => event));
    expect([eventsOf(current), eventsOf(behind)]).to.deep.equal([
      ['snapshot', 'change'],
      ['snapshot', 'snapshot'],
    ]);
    at.view.stop();
  });

  it('is read again for those that watch it when another connection fails to open it', async () => {
    const at = viewOf(page);
    await at.view.open();
    at.view.touch('1-0');
    const failing = new Error('Redis is away');
    at.failsWith = failing;
    const opening = at.view.open().catch((error: unknown) => error);
    await until('the read has begun', () => at.reads === 2);
    const one = watcher();
    at.view.join(one);
    at.failsWith = undefined;
    expect(await opening).to.equal(failing);
    await until('the change is sent', () => one.got.length === 2);
    at.view.stop();
  });
});

describe('The stream of a user', () => {
  function watcher(lastId?: string) {
    const one = {
      events: [] as string[],
      sends: 0,
      lastId,
      send: (bytes: Buffer, id: string): void => {
        one.events.push(...parseMessages(String(bytes)).map((message) => `${message.event} ${message.id}`));
        one.sends += 1;
        one.lastId = id;
      },
      end: () => undefined,
    };
    return one;
  }

  /** A view that has begun with an entry. `announced` is up to where all entries of the tenant are announced. */
  async function begun(upTo: string, announced = { upTo }): Promise<UserView> {
    const view = new UserView(() => announced.upTo);
    await view.begin()(upTo);
    return view;
  }

  it('sends what a client missed together, however much it is: in parts, it would exceed what may wait for the client', async () => {
    const view = await begun('1-0');
    for (let i = 0; i < 10; i += 1) await view.add(`2-${i}`, '{}');
    const one = watcher('1-0');
    view.join(one);
    expect(one.events).to.deep.equal(Array.from({ length: 10 }, (_, i) => `change 2-${i}`));
    expect(one.sends).to.equal(1);
  });

  it('keeps no more bytes than the limit', async () => {
    const view = await begun('1-0');
    const large = JSON.stringify('x'.repeat(limits.liveUserBytes / 4));
    for (let i = 0; i < 10; i += 1) await view.add(`2-${i}`, large);
    const [late, recent] = [watcher('2-5'), watcher('2-6')];
    for (const one of [late, recent]) view.join(one);
    expect([late.events, recent.events]).to.deep.equal([['reset 2-9'], ['change 2-7', 'change 2-8', 'change 2-9']]);
  });

  it('is reset for a client with an id that is not announced yet, as after a restore to an earlier state, and no message is sent twice', async () => {
    const announced = { upTo: '5-0' };
    const view = await begun('3-0', announced);
    const [ahead, current] = [watcher('9-0'), watcher('5-0')];
    for (const one of [ahead, current]) view.join(one);
    expect([ahead.events, current.events]).to.deep.equal([['reset 3-0'], []]);
    await view.add('4-0', '{}');
    await view.add('6-0', '{}');
    expect([ahead.events, current.events]).to.deep.equal([['reset 3-0', 'change 4-0', 'change 6-0'], ['change 6-0']]);
  });

  it('is reset for a client that waits with an id that is no entry', async () => {
    const view = new UserView(() => '0-0');
    const one = watcher('x');
    view.join(one);
    await view.begin()('1-0');
    await view.add('2-0', '{}');
    expect(one.events).to.deep.equal(['reset 1-0', 'change 2-0']);
  });

  it('does not begin with an entry that was read before it was interrupted again', async () => {
    const view = new UserView(() => '0-0');
    const one = watcher();
    view.join(one);
    const begin = view.begin();
    view.interrupt();
    await begin('1-0');
    expect([one.events, view.isPending]).to.deep.equal([[], true]);
  });

  it('keeps as many messages as the limit, for as long as the limit', async () => {
    const view = await begun('1-0');
    for (let i = 0; i <= limits.liveUserMessages; i += 1) await view.add(`2-${i}`, '{}');
    const from = (lastId: string): readonly string[] => {
      const one = watcher(lastId);
      view.join(one);
      return one.events;
    };
    expect(from('1-0')).to.deep.equal([`reset 2-${limits.liveUserMessages}`]);
    expect(from('2-0')).to.have.length(limits.liveUserMessages);
    view.dropBefore(performance.now() + 1);
    expect(from('2-0')).to.deep.equal([`reset 2-${limits.liveUserMessages}`]);
    expect(from(`2-${limits.liveUserMessages}`)).to.deep.equal([]);
  });
});

describe('Work in slices', () => {
  it('is done once for each item, in order, and lets other work in between', async () => {
    const [done, between]: [number[], number[]] = [[], []];
    const working = inSlices(
      Array.from({ length: 100 }, (_, i) => i),
      (i) => {
        done.push(i);
        const endAt = performance.now() + limits.liveTurnMs / 8;
        while (performance.now() < endAt);
      },
    );
    setImmediate(() => between.push(done.length));
    await working;
    expect(done).to.deep.equal(Array.from({ length: 100 }, (_, i) => i));
    expect(between[0]).to.be.within(1, 99);
  });
});
