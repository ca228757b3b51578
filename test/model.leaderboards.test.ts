import { expect } from 'chai';
import { buildDocument, type BoardSpec, type DocumentSpec } from './support/model/documents.js';
import { Play, zoneNamed } from './support/model/play.js';
import { runAt } from './support/model/runs.js';
import { dateOf, dayOf } from './support/model/time.js';

const board = (more: Partial<BoardSpec> = {}): BoardSpec => ({ rankBy: { metric: 'm1' }, ...more });
const of = (...boards: BoardSpec[]): DocumentSpec => ({ metrics: 1, boards });
const nuuk = { user: { attributes: { city: 'Nuuk' } } };
const lisbon = { user: { attributes: { city: 'Lisbon' } } };

describe('The model: leaderboards', () => {
  describe('Places', () => {
    /** `user value > board after it`. */
    const rows: readonly { readonly rule: string; readonly max?: number; readonly steps: readonly string[] }[] = [
      { rule: 'fall with the value', steps: ['ana 5 > ana 5', 'bo 7 > bo 7, ana 5', 'ana 3 > ana 8, bo 7', 'ana -4 > bo 7, ana 4'] },
      {
        rule: 'of equal values go to who was there first',
        steps: ['ana 5 > ana 5', 'bo 5 > ana 5, bo 5', 'ana 1 > ana 6, bo 5', 'ana -1 > bo 5, ana 5'],
      },
      { rule: 'are kept by an event that changes nothing', steps: ['ana 5 > ana 5', 'bo 5 > ana 5, bo 5', 'ana 0 > ana 5, bo 5'] },
      { rule: 'take a value of 0, but not one below', steps: ['ana 0 > ana 0', 'bo -1 > ana 0', 'bo 1 > ana 0, bo 0'] },
      { rule: 'are kept with a value below 0, as the last', steps: ['ana 1 > ana 1', 'bo 0 > ana 1, bo 0', 'ana -9 > bo 0, ana -8'] },
      {
        rule: 'on a full board need a value above the lowest, who leaves and comes back',
        max: 2,
        steps: [
          'ana 5 > ana 5',
          'bo 7 > bo 7, ana 5',
          'cy 5 > bo 7, ana 5',
          'cy 1 > bo 7, cy 6',
          'ana 1 > bo 7, cy 6',
          'ana 1 > bo 7, ana 7',
          'cy 2 > cy 8, bo 7',
        ],
      },
      {
        rule: 'are not given to those outside when somebody falls',
        max: 1,
        steps: ['ana 9 > ana 9', 'bo 5 > ana 9', 'ana -6 > ana 3', 'bo 0 > ana 3', 'bo 1 > bo 6'],
      },
      { rule: 'go by clean totals', steps: [...Array.from({ length: 9 }, (_, i) => `ana 0.1 > ana ${(i + 1) / 10}`), 'ana 0.1 > ana 1'] },
    ];
    for (const { rule, max, steps } of rows) {
      it(rule, () => {
        const play = new Play(of(board(max === undefined ? {} : { max })));
        for (const step of steps) {
          const [what = '', expected] = step.split(' > ');
          const [user = '', value] = what.split(' ');
          play.event(user, 'm1', Number(value));
          expect(play.board('b1'), step).to.equal(expected);
        }
      });
    }

    it('an event says rank, the rank before, and the value that it takes to get in', () => {
      const play = new Play(of(board({ max: 2 })));
      const place = (user: string, value: number): unknown[] => {
        const { b1 } = play.event(user, 'm1', value).leaderboards;
        return b1 ? [b1.previousRank, b1.rank, b1.threshold, b1.start, b1.end] : [];
      };
      const open = ['2039-12-23', null];
      expect(place('ana', 5)).to.deep.equal([null, 1, 0, ...open]);
      expect(place('bo', 7)).to.deep.equal([null, 1, 5, ...open]);
      expect(place('ana', 0)).to.deep.equal([]);
      expect(place('cy', 5)).to.deep.equal([]);
      expect(place('ana', 9)).to.deep.equal([2, 1, 7, ...open]);
      expect(place('cy', 3)).to.deep.equal([null, 2, 8, ...open]);
      expect(place('bo', 0)).to.deep.equal([]);
    });

    it('a page starts at an offset, or at a user', () => {
      const play = new Play(of(board()));
      for (const [user, value] of [
        ['ana', 4],
        ['bo', 3],
        ['cy', 2],
        ['di', 1],
      ] as const)
        play.event(user, 'm1', value);
      const page = (query: object): unknown[] =>
        (play.model.leaderboard('b1', query).body as { rankings: { userId: string; rank: number }[] }).rankings.map(
          ({ userId, rank }) => `${rank} ${userId}`,
        );
      expect(page({ offset: 1, limit: 2 })).to.deep.equal(['2 bo', '3 cy']);
      expect(page({ userId: 'bo', offset: 1, limit: 2 })).to.deep.equal(['3 cy', '4 di']);
      expect(page({ userId: 'nobody' })).to.deep.equal([]);
    });

    it('lowering maxParticipants takes the last places off at once', () => {
      const play = new Play(of(board()));
      for (const [user, value] of [
        ['ana', 4],
        ['bo', 3],
        ['cy', 2],
      ] as const)
        play.event(user, 'm1', value);
      play.edit({ edit: 'lowerParticipants', leaderboard: 0, max: 2 });
      expect(play.board('b1')).to.equal('ana 4, bo 3');
      expect(play.event('cy', 'm1', 1).leaderboards).to.deep.equal({});
      expect(play.event('cy', 'm1', 1).leaderboards['b1']).to.include({ previousRank: null, rank: 2, threshold: 4 });
    });
  });

  describe('Runs', () => {
    const rows: readonly (readonly [rule: string, spec: Partial<BoardSpec>, date: string, run: string])[] = [
      ['a perpetual board has one', {}, '2041-05-05', '2039-12-23..'],
      ['up to its end', { end: '2040-02-01' }, '2040-02-01', '2039-12-23..2040-02-01'],
      ['none before the start', { start: '2040-01-03' }, '2040-01-02', 'none'],
      ['none after the end', { end: '2040-02-01' }, '2040-02-02', 'none'],
      ['days', { start: '2040-01-02', every: [7, 'day'] }, '2040-01-08', '2040-01-02..2040-01-08'],
      ['the next days', { start: '2040-01-02', every: [7, 'day'] }, '2040-01-09', '2040-01-09..2040-01-15'],
      ['days that the end cuts off', { start: '2040-01-02', end: '2040-01-11', every: [7, 'day'] }, '2040-01-09', '2040-01-09..2040-01-11'],
      ['a month that lacks the day: its last', { start: '2040-01-31', every: [1, 'month'] }, '2040-02-28', '2040-01-31..2040-02-28'],
      ['the month that lacks the day', { start: '2040-01-31', every: [1, 'month'] }, '2040-02-29', '2040-02-29..2040-03-30'],
      ['the month after', { start: '2040-01-31', every: [1, 'month'] }, '2040-03-31', '2040-03-31..2040-04-29'],
      ['quarters', { start: '2039-11-30', every: [3, 'month'] }, '2040-03-01', '2040-02-29..2040-05-29'],
      ['a leap day, in a year without one', { start: '2040-02-29', every: [1, 'year'] }, '2041-02-28', '2041-02-28..2042-02-27'],
      ['a leap day, four years on', { start: '2040-02-29', every: [1, 'year'] }, '2044-03-01', '2044-02-29..2045-02-27'],
    ];
    for (const [rule, spec, date, expected] of rows) {
      it(`${rule}: ${date} is in ${expected}`, () => {
        const span = runAt(buildDocument(of(board(spec))).leaderboards[0]!, dayOf(date));
        expect(span ? `${dateOf(span.first)}..${span.last === null ? '' : dateOf(span.last)}` : 'none').to.equal(expected);
      });
    }

    const weekly = board({ start: '2040-01-02', every: [7, 'day'] });

    it('start at 0, and rank what was gained in them', () => {
      const play = new Play(of(weekly));
      play.event('ana', 'm1', 10);
      play.at('01-08 12:00').event('bo', 'm1', 4);
      play.at('01-09 12:00').event('bo', 'm1', 2.5);
      play.event('ana', 'm1', 1);
      const { b1 } = play.event('ana', 'm1', -3).leaderboards;
      expect(b1).to.include({ previousRank: 2, rank: 2, start: '2040-01-09', end: '2040-01-15' });
      expect(play.board('b1')).to.equal('bo 2.5, ana -2');
      expect(play.board('b1', '2040-01-02')).to.equal('ana 10, bo 4');
    });

    it('two are open at once while local dates differ', () => {
      const play = new Play(of(weekly));
      play.identify('ana', { tz: zoneNamed('HI') }).identify('bo', { tz: zoneNamed('NZ') });
      play.at('01-08 12:00').event('bo', 'm1', 5);
      expect(play.event('ana', 'm1', 3).leaderboards['b1']!.start).to.equal('2040-01-02');
      expect([play.board('b1', '2040-01-02'), play.board('b1', '2040-01-09')]).to.deep.equal(['ana 3', 'bo 5']);
      const place = (user: string): unknown => (play.model.userLeaderboard(user, 'b1').body as { value: number | null }).value;
      expect([place('ana'), place('bo')]).to.deep.equal([3, 5]);
      expect(play.board('b1'), 'the one on the UTC date').to.equal('ana 3');
    });

    it('a user who moves west scores in the earlier one again', () => {
      const play = new Play(of(weekly));
      play
        .identify('ana', { tz: zoneNamed('NZ') })
        .at('01-08 12:00')
        .event('ana', 'm1', 5);
      play.event('ana', 'm1', 2, { user: { tz: zoneNamed('HI') } });
      expect([play.board('b1', '2040-01-02'), play.board('b1', '2040-01-09')]).to.deep.equal(['ana 2', 'ana 5']);
    });

    it('are finalised 12 hours after their last date has ended in UTC, when the last zone has ended it', () => {
      const play = new Play(of(weekly));
      play.identify('ana', { tz: zoneNamed('BK') }).event('bo', 'm1', 5);
      play.at('01-09 11:59:59.999').event('ana', 'm1', 7);
      expect(play.final('b1', '2040-01-02')).to.equal('open');
      play.at('01-09 12:00').event('ana', 'm1', 1);
      expect([play.final('b1', '2040-01-02'), play.board('b1')]).to.deep.equal(['ana 7, bo 5', 'ana 1']);
    });

    it('who was left outside with a higher value is put right then', () => {
      const play = new Play(of(board({ start: '2040-01-02', every: [7, 'day'], max: 2 })));
      for (const [user, value] of [
        ['ana', 9],
        ['bo', 8],
        ['cy', 5],
        ['di', -1],
        ['bo', -5],
        ['ana', -6],
        ['eve', 3],
      ] as const)
        play.event(user, 'm1', value);
      expect(play.board('b1')).to.equal('bo 3, ana 3');
      expect(play.at('01-09 12:00').final('b1', '2040-01-02')).to.equal('cy 5, bo 3');
      expect(play.board('b1', '2040-01-02')).to.equal('cy 5, bo 3');
    });

    it('are not known before they have begun anywhere', () => {
      const play = new Play(of(weekly));
      expect(play.at('01-08 09:59').model.leaderboard('b1', { run: '2040-01-09' }).status).to.equal(404);
      expect(play.at('01-08 10:00').model.leaderboard('b1', { run: '2040-01-09' }).status).to.equal(200);
      expect(play.model.leaderboard('b1', { run: '2040-01-01' }).status).to.equal(404);
    });

    it('by points rank the points that were awarded, with those that time awards', () => {
      const play = new Play({
        ...of(board({ rankBy: { points: 'p1' }, start: '2040-01-02', every: [1, 'day'] })),
        systems: [{ maxPoints: 12, triggers: [{ type: 'time', unit: 'hours', interval: 6, points: 5 }] }],
      });
      play.identify('ana', {}).at('01-03 12:00');
      expect([play.board('b1', '2040-01-02'), play.board('b1', '2040-01-03')]).to.deep.equal(['ana 5', 'ana 7']);
    });
  });

  describe('Start, end and status', () => {
    const listed = (play: Play, includeFinished = false): string =>
      (play.model.leaderboards(includeFinished).body as { key: string; status: string }[])
        .map(({ key, status }) => `${key} ${status}`)
        .join(', ');

    it('an inactive one is as good as absent, the others go by the UTC date', () => {
      const play = new Play(of(board({ status: 'inactive' }), board({ start: '2040-01-03' }), board({ end: '2040-01-03' })));
      expect(play.model.leaderboard('b1', {}).status).to.equal(404);
      expect(listed(play)).to.equal('b2 scheduled, b3 active');
      expect(listed(play.at('01-04 00:00'))).to.equal('b2 active');
      expect(listed(play, true)).to.equal('b2 active, b3 finished');
    });

    it('events count from the first to the last local date', () => {
      const play = new Play(of(board({ start: '2040-01-04', end: '2040-01-04', every: [1, 'day'] })));
      const counts = (when: string): boolean => 'b1' in play.at(when).event('ana', 'm1', 1, { user: { tz: zoneNamed('NZ') } }).leaderboards;
      const counted = [counts('01-03 23:59 NZ'), counts('01-04 00:00 NZ'), counts('01-04 23:59 NZ'), counts('01-05 00:00 NZ')];
      expect(counted).to.deep.equal([false, true, true, false]);
    });

    it('opening a perpetual one enters who has a value, ties by when it was reached', () => {
      const play = new Play(of(board({ status: 'inactive', max: 3 })));
      for (const [user, value] of [
        ['ana', 5],
        ['bo', 5],
        ['cy', 9],
        ['di', 4],
        ['ana', -1],
        ['ana', 1],
      ] as const)
        play.event(user, 'm1', value);
      play.edit({ edit: 'openLeaderboard', leaderboard: 0 });
      expect(play.board('b1')).to.equal('cy 9, bo 5, ana 5');
    });

    it('one that is scheduled is filled when its start has come in UTC', () => {
      const play = new Play(of(board({ start: '2040-01-04' })));
      play.event('ana', 'm1', 5);
      expect(play.at('01-03 23:59:59.999').board('b1')).to.equal('');
      expect(play.at('01-04 00:00').board('b1')).to.equal('ana 5');
    });

    it('opening a repeating one, or one with a window, starts at 0', () => {
      const play = new Play(
        of(board({ status: 'inactive', every: [7, 'day'] }), board({ status: 'inactive', window: ['00:00', '23:00'] })),
      );
      play.event('ana', 'm1', 5);
      play.edit({ edit: 'openLeaderboard', leaderboard: 0 }).edit({ edit: 'openLeaderboard', leaderboard: 1 });
      expect([play.board('b1'), play.board('b2')]).to.deep.equal(['', '']);
      play.event('ana', 'm1', 2);
      expect([play.board('b1'), play.board('b2')]).to.deep.equal(['ana 2', 'ana 2']);
    });

    it('a perpetual one with an end is finalised too, and read as it then was', () => {
      const play = new Play(of(board({ end: '2040-01-03' })));
      play.event('ana', 'm1', 5);
      play.at('01-04 00:00').event('ana', 'm1', 5);
      expect(play.board('b1')).to.equal('ana 5');
      expect(play.at('01-04 12:00').final('b1', '2039-12-23')).to.equal('ana 5');
    });
  });

  describe('Window', () => {
    const rows: readonly (readonly [window: readonly [string, string], when: string, counts: boolean])[] = [
      [['09:00', '17:00'], '01-03 08:59:59.999 KT', false],
      [['09:00', '17:00'], '01-03 09:00 KT', true],
      [['09:00', '17:00'], '01-03 16:59:59.999 KT', true],
      [['09:00', '17:00'], '01-03 17:00 KT', false],
      [['22:00', '06:00'], '01-03 22:00 KT', true],
      [['22:00', '06:00'], '01-04 05:59:59.999 KT', true],
      [['22:00', '06:00'], '01-04 06:00 KT', false],
      [['22:00', '06:00'], '01-03 21:59:59.999 KT', false],
      [['00:00', '12:00:01'], '01-03 12:00:00.999 KT', true],
      [['00:00', '12:00:01'], '01-03 12:00:01 KT', false],
    ];
    for (const [window, when, counts] of rows) {
      it(`${window.join(' to ')}: ${when} ${counts ? 'counts' : 'does not count'}`, () => {
        const play = new Play(of(board({ window })));
        const { leaderboards } = play.at(when).event('ana', 'm1', 1, { user: { tz: zoneNamed('KT') } });
        expect('b1' in leaderboards).to.equal(counts);
      });
    }

    it('a perpetual board then ranks the sum of what counted', () => {
      const play = new Play(of(board({ window: ['09:00', '17:00'] })));
      play.event('ana', 'm1', 3);
      play.at('01-02 18:00').event('ana', 'm1', 50);
      play.at('01-03 09:00').event('ana', 'm1', 4);
      expect(play.board('b1')).to.equal('ana 7');
    });
  });

  describe('Breakdown', () => {
    const grouped = board({ breakdown: ['city'], max: 2 });

    it('one board for each combination, none for a user who lacks a value', () => {
      const play = new Play(of(board({ breakdown: ['city', 'plan'] })));
      expect(play.event('ana', 'm1', 5, nuuk).leaderboards).to.deep.equal({});
      const block = play.event('ana', 'm1', 1, { user: { attributes: { plan: 'pro' } } }).leaderboards['b1']!;
      expect(block).to.include({ rank: 1, previousRank: null });
      expect(block.breakdownAttributeValues).to.deep.equal([
        { key: 'city', value: 'Nuuk' },
        { key: 'plan', value: 'pro' },
      ]);
      expect(play.board('b1', undefined, 'city:Nuuk,plan:pro')).to.equal('ana 6');
      expect(play.board('b1', undefined, 'plan:free,city:Nuuk')).to.equal('');
      expect(play.model.leaderboard('b1', { userAttributes: 'city:Nuuk' }).status).to.equal(422);
      expect(play.model.leaderboard('b1', {}).status).to.equal(422);
    });

    it('a user who changes groups takes the value along, behind equals, and may find no room', () => {
      const play = new Play(of(grouped));
      const boards = (): string[] => [play.board('b1', undefined, 'city:Nuuk'), play.board('b1', undefined, 'city:Lisbon')];
      play.event('ana', 'm1', 5, nuuk);
      play.event('bo', 'm1', 5, lisbon);
      play.identify('ana', lisbon.user);
      expect(boards()).to.deep.equal(['', 'bo 5, ana 5']);
      play.event('cy', 'm1', 5, nuuk);
      play.identify('cy', lisbon.user);
      expect(boards(), 'no room').to.deep.equal(['', 'bo 5, ana 5']);
      play.identify('bo', nuuk.user);
      expect(boards(), 'a place that becomes free').to.deep.equal(['bo 5', 'ana 5']);
      expect(play.event('cy', 'm1', 1).leaderboards['b1']).to.include({ previousRank: null, rank: 1, threshold: 5 });
    });

    it('an event of another metric moves the user as well', () => {
      const play = new Play({ ...of(grouped), metrics: 2 });
      play.event('ana', 'm1', 5, nuuk);
      expect(play.event('ana', 'm2', 1, lisbon).leaderboards['b1']).to.include({ previousRank: null, rank: 1 });
      expect(play.board('b1', undefined, 'city:Lisbon')).to.equal('ana 5');
    });

    it('in a run only what was gained with all values set counts, and moves along', () => {
      const play = new Play(of(board({ breakdown: ['city'], every: [7, 'day'], start: '2040-01-02' })));
      play.event('ana', 'm1', 5);
      play.identify('ana', nuuk.user);
      expect(play.board('b1', undefined, 'city:Nuuk')).to.equal('');
      play.event('ana', 'm1', 2);
      play.event('ana', 'm1', 1, lisbon);
      expect([play.board('b1', undefined, 'city:Nuuk'), play.board('b1', undefined, 'city:Lisbon')]).to.deep.equal(['', 'ana 3']);
    });
  });

  describe('Streak boards', () => {
    const spec: DocumentSpec = { metrics: 1, streaks: { conditions: { m1: 1 } }, boards: [{ rankBy: 'streak' }] };

    it('rank the current length, and a lost streak leaves the board', () => {
      const play = new Play(spec);
      play.event('ana', 'm1', 1);
      play.event('bo', 'm1', 1);
      expect(play.at('01-03 12:00').event('bo', 'm1', 1).leaderboards['b1']).to.include({ previousRank: 2, rank: 1 });
      expect(play.board('b1')).to.equal('bo 2, ana 1');
      expect(play.at('01-04 00:00').board('b1')).to.equal('bo 2');
      play.at('01-04 12:00').model.restoreStreak('ana');
      expect(play.board('b1')).to.equal('bo 2, ana 1');
    });

    it('go by another frequency when that is configured', () => {
      const play = new Play(spec);
      play.event('ana', 'm1', 1);
      play.at('01-03 12:00').event('ana', 'm1', 1);
      play.at('01-09 12:00').event('ana', 'm1', 1);
      expect(play.board('b1')).to.equal('ana 1');
      expect(play.edit({ edit: 'frequency', frequency: 'weekly' }).board('b1')).to.equal('ana 2');
    });

    it('a loss after the end of the board does not change it', () => {
      const play = new Play({ ...spec, boards: [{ rankBy: 'streak', end: '2040-01-03' }] });
      play.event('ana', 'm1', 1);
      expect(play.at('01-04 00:00').board('b1')).to.equal('ana 1');
      expect(play.at('01-04 12:00').final('b1', '2039-12-23')).to.equal('ana 1');
    });
  });

  describe('What time does', () => {
    it('happens in the order of time for everybody: who reached a value first is first', () => {
      const play = new Play({
        ...of(board({ rankBy: { points: 'p1' } })),
        systems: [{ triggers: [{ type: 'time', unit: 'days', interval: 1, points: 1 }] }],
      });
      // The midnight of the 5th in Honolulu is at 10:00 UTC, that of the 6th in Auckland at 11:00.
      play.identify('bo', { tz: zoneNamed('NZ') }).identify('zoe', { tz: zoneNamed('HI') });
      expect(play.at('01-20 10:30').board('b1')).to.equal('zoe 18, bo 17');
      expect(play.at('01-20 11:00').board('b1')).to.equal('zoe 18, bo 18');
    });
  });
});
