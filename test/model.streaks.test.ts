import { expect } from 'chai';
import type { DocumentSpec, StreaksSpec } from './support/model/documents.js';
import { Play, zoneNamed } from './support/model/play.js';

/**
 * `when | what | streak`. When, in the zone of the row if none is named. What: `m1 5` is an event, `tz NZ` a move, `read` nothing. The
 * streak is `length`, then, where they matter, `f2` for freezes, `e01-04` for expires, `s01-02` for started, `p01-02..01-08` for the period.
 */
interface Row {
  readonly rule: string;
  readonly of?: Partial<StreaksSpec>;
  readonly weekStart?: 'monday' | 'sunday';
  readonly zone?: string;
  readonly lines: readonly string[];
}

const document = ({ of, weekStart = 'monday' }: Row): DocumentSpec => ({
  weekStart,
  metrics: 3,
  streaks: { conditions: { m1: 1 }, ...of },
});

const act = (play: Play, what: string): void => {
  const [word = '', ...rest] = what.split(' ');
  const [first = '', second = ''] = rest;
  switch (word) {
    case 'read':
      return;
    case 'tz':
      play.identify('ana', { tz: zoneNamed(first) });
      return;
    case 'pause': {
      expect(play.model.createPause('ana', `2040-${first}`, `2040-${second}`).status).to.equal(200);
      return;
    }
    case 'unpause':
      expect(play.model.deletePause('pause-1').status).to.equal(200);
      return;
    case 'freeze':
      expect(play.model.grantFreeze('ana').status).to.equal(200);
      return;
    case 'restore':
      expect(play.model.restoreStreak('ana').status).to.equal(first === 'refused' ? 422 : 200);
      return;
    case 'frequency':
      play.edit({ edit: 'frequency', frequency: first as 'daily' });
      return;
    case 'mode':
      play.edit({ edit: 'evaluationMode', mode: first as 'AND' });
      return;
    case 'threshold':
      play.edit({ edit: 'condition', condition: 0, threshold: Number(first) });
      return;
    case 'own':
      expect(
        play.model.setStreakPreferences('ana', { evaluationMode: 'AND', metrics: [{ key: first, threshold: Number(second) }] }).status,
      ).to.equal(200);
      return;
    default:
      play.event('ana', word, Number(first));
  }
};

/** The streak, said in the words of the expectation. */
function streakOf(play: Play, expected: string): string {
  const streak = play.streak('ana');
  const short = (date: string | null): string => (date === null ? 'null' : date.replace(/^2040-/, ''));
  const words = expected.split(' ').map((word, index) => {
    if (index === 0) return String(streak.length);
    if (word.startsWith('f')) return `f${streak.freezes}`;
    if (word.startsWith('e')) return `e${short(streak.expires)}`;
    if (word.startsWith('s')) return `s${short(streak.started)}`;
    return `p${short(streak.periodStart)}..${short(streak.periodEnd)}`;
  });
  return words.join(' ');
}

const tables: Readonly<Record<string, readonly Row[]>> = {
  'Counting and extending': [
    {
      rule: 'once a day, from the first event that meets the condition',
      lines: ['01-02 12:00 | m1 1 | 1 e01-03 s01-02', '01-02 13:00 | m1 9 | 1', '01-03 00:00 | m1 1 | 2 e01-04 s01-02'],
    },
    {
      rule: 'counts add up inside the day, and a new day starts from 0',
      of: { conditions: { m1: 5 } },
      lines: [
        '01-02 12:00 | m1 3 | 0',
        '01-02 23:59 | m1 2 | 1',
        '01-03 10:00 | m1 3 | 1',
        '01-03 11:00 | m1 1.5 | 1',
        '01-03 11:00 | m1 0.5 | 2',
      ],
    },
    {
      rule: 'a count that falls takes nothing back, and what is below the threshold again has still been kept',
      lines: [
        '01-02 12:00 | m1 1 | 1',
        '01-02 13:00 | m1 -5 | 1',
        '01-03 13:00 | m1 -2 | 1',
        '01-03 13:00 | m1 2 | 1',
        '01-03 13:00 | m1 1 | 2',
      ],
    },
    {
      rule: 'AND needs every condition',
      of: { mode: 'AND', conditions: { m1: 1, m2: 2 } },
      lines: ['01-02 12:00 | m1 1 | 0', '01-02 12:00 | m2 1 | 0', '01-02 12:00 | m2 1 | 1'],
    },
    {
      rule: 'OR needs one condition',
      of: { mode: 'OR', conditions: { m1: 1, m2: 2 } },
      lines: ['01-02 12:00 | m2 1 | 0', '01-02 12:00 | m2 1 | 1', '01-03 12:00 | m1 1 | 2'],
    },
    { rule: 'without conditions there is never one', of: { conditions: {} }, lines: ['01-02 12:00 | m1 5 | 0 enull snull pnull..null'] },
    { rule: 'events on other metrics do not look at it', lines: ['01-02 12:00 | m3 5 | 0', '01-02 13:00 | m1 1 | 1'] },
    {
      rule: 'conditions that are changed are looked at again at once',
      of: { conditions: { m1: 5 } },
      lines: ['01-02 12:00 | m1 3 | 0', '01-02 13:00 | threshold 3 | 1', '01-02 14:00 | m1 3 | 1'],
    },
    {
      rule: "a user's own conditions take the place of the configured ones",
      of: { personalization: true },
      lines: ['01-02 12:00 | m2 1 | 0', '01-02 12:00 | own m2 2 | 0', '01-02 12:00 | m1 5 | 0', '01-02 12:00 | m2 2 | 1'],
    },
  ],
  Missing: [
    { rule: 'a day without an event', lines: ['01-02 12:00 | m1 1 | 1', '01-03 23:59:59.999 | read | 1 e01-03', '01-04 00:00 | read | 0'] },
    { rule: 'months later as well', lines: ['01-02 12:00 | m1 1 | 1', '06-01 12:00 | m1 1 | 1 s06-01'] },
    {
      rule: 'goes by the local day: Kathmandu',
      zone: 'KT',
      // The first event is of a user without a zone: a day in UTC as well.
      lines: [
        '01-02 18:00 | m1 1 | 1',
        '01-02 18:00 | tz KT | 1',
        '01-03 23:59 | read | 1',
        '01-04 05:44 | read | 1',
        '01-04 05:45 | read | 0',
      ],
    },
    {
      rule: 'a day of 23 hours in New York',
      zone: 'NY',
      lines: [
        '03-10 00:00 | tz NY | 0',
        '03-10 23:59 | m1 1 | 1',
        '03-11 23:59 | m1 1 | 2',
        '03-12 23:59 | read | 2',
        '03-13 00:00 | read | 0',
      ],
    },
    {
      rule: 'a day of 25 hours in New York',
      zone: 'NY',
      lines: [
        '11-03 00:00 | tz NY | 0',
        '11-03 00:00 | m1 1 | 1',
        '11-04 23:59 | m1 1 | 2',
        '11-05 23:59 | m1 1 | 3',
        '11-07 00:00 | read | 0',
      ],
    },
    {
      rule: 'a day of 25 hours in Auckland',
      zone: 'NZ',
      lines: [
        '03-31 12:00 | tz NZ | 0',
        '03-31 12:00 | m1 1 | 1',
        '04-01 00:10 | m1 1 | 2',
        '04-02 23:50 | m1 1 | 3',
        '04-04 00:00 | read | 0',
      ],
    },
    {
      rule: 'a day that starts at 01:00 in Santiago',
      zone: 'SA',
      lines: ['08-30 12:00 | tz SA | 0', '08-31 12:00 | m1 1 | 1', '2040-09-01 23:59:59 | read | 1', '2040-09-02 01:00 | read | 0'],
    },
    {
      rule: 'a leap day is a day',
      lines: ['02-28 12:00 | m1 1 | 1', '02-29 12:00 | m1 1 | 2', '03-01 12:00 | m1 1 | 3'],
    },
    { rule: 'over the end of the year', lines: ['12-31 23:59 | m1 1 | 1 e2041-01-01', '2041-01-01 23:59 | m1 1 | 2 e2041-01-02 s12-31'] },
  ],
  'Weeks and months': [
    {
      rule: 'weeks start on Monday',
      of: { frequency: 'weekly' },
      lines: [
        '01-08 23:59 | m1 1 | 1 s01-02 p01-02..01-08 e01-15',
        '01-09 00:00 | m1 1 | 2 p01-09..01-15 e01-22',
        '01-22 23:59 | read | 2',
        '01-23 00:00 | read | 0',
      ],
    },
    {
      rule: 'weeks start on Sunday where that is configured',
      of: { frequency: 'weekly' },
      weekStart: 'sunday',
      lines: ['01-07 23:59 | m1 1 | 1 p01-01..01-07', '01-08 00:00 | m1 1 | 2 p01-08..01-14', '01-14 23:59 | m1 1 | 2'],
    },
    {
      rule: 'a week goes over the end of the year',
      of: { frequency: 'weekly' },
      lines: ['12-31 12:00 | m1 1 | 1 p12-31..2041-01-06', '2041-01-06 12:00 | m1 1 | 1', '2041-01-07 00:00 | m1 1 | 2'],
    },
    {
      rule: 'months, the short ones too',
      of: { frequency: 'monthly' },
      lines: [
        '01-31 12:00 | m1 1 | 1 s01-01 p01-01..01-31 e02-29',
        '02-29 12:00 | m1 1 | 2 e03-31',
        '03-01 00:00 | m1 1 | 3',
        '04-30 23:59 | read | 3',
        '05-01 00:00 | read | 0',
      ],
    },
    {
      rule: 'all three are tracked, and a switch of the frequency shows another',
      lines: [
        '01-02 12:00 | m1 1 | 1',
        '01-03 12:00 | m1 1 | 2',
        '01-10 12:00 | m1 1 | 1 s01-10',
        '01-10 12:00 | frequency weekly | 2 s01-02 e01-22',
        '01-10 12:00 | frequency monthly | 1 s01-01 e02-29',
        '01-10 12:00 | frequency daily | 1 s01-10 e01-11',
      ],
    },
  ],
  Freezes: [
    {
      rule: 'one covers one missed day, and adds nothing to the length',
      of: { freezes: { initial: 2, maximum: 3 } },
      lines: ['01-02 12:00 | m1 1 | 1 f2', '01-04 00:00 | read | 1 f1 e01-04', '01-05 00:00 | m1 1 | 2 f0', '01-07 00:00 | read | 0 f0'],
    },
    {
      rule: 'several days at once use one each, and one too few loses the streak but the freezes are gone',
      of: { freezes: { initial: 2, maximum: 2 } },
      lines: ['01-02 12:00 | m1 1 | 1 f2', '01-06 00:00 | read | 0 f0'],
    },
    { rule: 'no more than the maximum at first', of: { freezes: { initial: 5, maximum: 2 } }, lines: ['01-02 12:00 | m1 1 | 1 f2'] },
    {
      rule: 'are earned after every so many local days since the creation, up to the maximum',
      of: { freezes: { initial: 0, maximum: 2, earnInterval: 3, earnAmount: 1 } },
      lines: [
        '01-02 12:00 | m3 1 | 0 f0',
        '01-04 23:59 | read | 0 f0',
        '01-05 00:00 | read | 0 f1',
        '01-08 00:00 | read | 0 f2',
        '02-01 00:00 | read | 0 f2',
      ],
    },
    {
      rule: 'one that is earned on a day is there for the period that ends with that day',
      of: { freezes: { initial: 0, maximum: 1, earnInterval: 3, earnAmount: 1 } },
      lines: ['01-02 12:00 | m1 1 | 1', '01-03 12:00 | m1 1 | 2', '01-04 12:00 | m1 1 | 3 f0', '01-06 00:00 | read | 3 f0'],
    },
    {
      rule: 'but not for the one that has ended with the day before',
      of: { freezes: { initial: 0, maximum: 1, earnInterval: 3, earnAmount: 1 } },
      lines: ['01-02 12:00 | m1 1 | 1', '01-03 12:00 | m1 1 | 2', '01-05 00:00 | read | 0 f1'],
    },
    {
      rule: 'so that a use makes room for the next one',
      of: { freezes: { initial: 1, maximum: 1, earnInterval: 1, earnAmount: 1 } },
      lines: ['01-02 12:00 | m1 1 | 1 f1', '01-04 00:00 | read | 1 f1', '02-01 00:00 | read | 1 f1'],
    },
    {
      rule: 'granted ones go beyond the maximum, earned ones then add nothing',
      of: { freezes: { initial: 1, maximum: 1, earnInterval: 1, earnAmount: 1 } },
      lines: [
        '01-02 12:00 | m1 1 | 1 f1',
        '01-02 12:00 | freeze | 1 f2',
        '01-02 12:00 | freeze | 1 f3',
        '01-03 12:00 | read | 1 f3',
        '01-05 00:00 | read | 1 f1',
      ],
    },
    {
      rule: 'are used by the configured frequency alone',
      of: { frequency: 'weekly', freezes: { initial: 1, maximum: 1 } },
      lines: ['01-02 12:00 | m1 1 | 1 f1', '01-16 00:00 | read | 1 f0', '01-16 00:00 | frequency daily | 0 f0'],
    },
  ],
  Pauses: [
    {
      rule: 'cover what they touch, before a freeze is used',
      of: { freezes: { initial: 1, maximum: 1 } },
      lines: [
        '01-02 12:00 | m1 1 | 1 f1',
        '01-02 12:00 | pause 01-03 01-04 | 1',
        '01-05 00:00 | read | 1 f1',
        '01-06 00:00 | read | 1 f0',
        '01-07 00:00 | read | 0',
      ],
    },
    {
      rule: 'a week is covered by a pause of one of its days',
      of: { frequency: 'weekly' },
      lines: ['01-02 12:00 | m1 1 | 1', '01-02 12:00 | pause 01-15 01-15 | 1', '01-16 00:00 | read | 1', '01-22 00:00 | m1 1 | 2'],
    },
    {
      rule: 'can be extended in, which then counts',
      lines: ['01-02 12:00 | m1 1 | 1', '01-02 12:00 | pause 01-03 01-05 | 1', '01-04 12:00 | m1 1 | 2', '01-06 12:00 | m1 1 | 3'],
    },
    {
      rule: 'one made afterwards does not bring a lost streak back',
      lines: ['01-02 12:00 | m1 1 | 1', '01-04 00:00 | pause 01-03 01-03 | 0', '01-04 00:00 | m1 1 | 1'],
    },
    {
      rule: 'one made in time, on the last moment of the day, does',
      lines: ['01-02 12:00 | m1 1 | 1', '01-03 23:59:59.999 | pause 01-03 01-03 | 1', '01-04 12:00 | m1 1 | 2'],
    },
    {
      rule: 'one that is deleted covers nothing any more',
      lines: ['01-02 12:00 | m1 1 | 1', '01-02 12:00 | pause 01-03 01-09 | 1', '01-05 12:00 | unpause | 1', '01-06 00:00 | read | 0'],
    },
  ],
  Moving: [
    {
      rule: 'east over the date line: kept in the new zone, the day between covered silently',
      zone: 'NZ',
      of: { freezes: { initial: 1, maximum: 1 } },
      lines: [
        '01-03 08:00 HI | tz HI | 0',
        '01-03 12:00 HI | m1 1 | 1',
        '01-04 09:00 HI | tz NZ | 1 f1',
        '01-05 22:59 NZ | m1 1 | 2 f1 e01-06',
      ],
    },
    {
      rule: 'east: lost when the day that was needed has ended in the old zone',
      zone: 'NZ',
      lines: [
        '01-03 08:00 HI | tz HI | 0',
        '01-03 12:00 HI | m1 1 | 1',
        '01-04 09:00 HI | tz NZ | 1 e01-05',
        '01-05 22:59 NZ | read | 1',
        '01-05 23:00 NZ | read | 0',
      ],
    },
    {
      rule: 'east: a freeze then covers it, at the end of the grace',
      zone: 'NZ',
      of: { freezes: { initial: 1, maximum: 1 } },
      lines: [
        '01-03 08:00 HI | tz HI | 0',
        '01-03 12:00 HI | m1 1 | 1',
        '01-04 09:00 HI | tz NZ | 1 f1',
        '01-05 23:00 NZ | read | 1 f0',
        '01-05 23:30 NZ | m1 1 | 2 f0',
      ],
    },
    {
      rule: 'west: a date that comes twice extends once, and the streak day waits for the calendar',
      lines: [
        '01-05 22:00 NZ | tz NZ | 0',
        '01-05 22:00 NZ | m1 1 | 1',
        '01-06 10:00 NZ | m1 1 | 2 e01-07',
        '01-06 12:00 NZ | tz HI | 2 p01-06..01-06',
        '01-05 20:00 HI | m1 1 | 2 p01-06..01-06',
        '01-06 20:00 HI | m1 1 | 2 e01-07',
        '01-07 23:59 HI | m1 1 | 3',
      ],
    },
    {
      rule: 'west and back on the same day costs and gives nothing',
      lines: [
        '01-05 22:00 NZ | tz NZ | 0',
        '01-05 22:00 NZ | m1 1 | 1',
        '01-05 22:10 NZ | tz HI | 1',
        '01-05 22:20 NZ | m1 1 | 1',
        '01-05 22:30 NZ | tz NZ | 1',
        '01-06 12:00 NZ | m1 1 | 2',
      ],
    },
    {
      rule: 'from the last zone to the first, two dates at once',
      zone: 'KI',
      lines: [
        '01-03 10:00 BK | tz BK | 0',
        '01-03 12:00 BK | m1 1 | 1',
        '01-03 23:00 BK | tz KI | 1 p01-05..01-05',
        '01-06 01:59 KI | m1 1 | 2 s01-03 p01-06..01-06',
      ],
    },
    {
      rule: 'from the last zone to the first: lost when the next day has ended there',
      zone: 'KI',
      lines: [
        '01-03 10:00 BK | tz BK | 0',
        '01-03 12:00 BK | m1 1 | 1',
        '01-03 23:00 BK | tz KI | 1',
        '01-06 01:59 KI | read | 1',
        '01-06 02:00 KI | read | 0',
      ],
    },
    {
      rule: 'a later grace takes the place of an earlier one',
      zone: 'KT',
      // Needed in Honolulu: the 4th, until 01-05 10:00Z. Needed in Auckland: the 5th, until 01-05 11:00Z, which is 16:45 in Kathmandu.
      lines: [
        '01-03 08:00 HI | tz HI | 0',
        '01-03 12:00 HI | m1 1 | 1',
        '01-04 09:00 HI | tz NZ | 1',
        '01-05 09:00 NZ | tz KT | 1',
        '01-05 16:44 KT | read | 1',
        '01-05 16:45 KT | read | 0',
      ],
    },
  ],
  Restore: [
    {
      rule: 'with the current day not yet extended',
      lines: [
        '01-02 12:00 | m1 1 | 1',
        '01-03 12:00 | m1 1 | 2',
        '01-06 12:00 | restore | 2 s01-02 e01-06',
        '01-06 13:00 | m1 1 | 3',
        '01-06 13:00 | restore refused | 3',
      ],
    },
    {
      rule: 'with the current day extended',
      lines: [
        '01-02 12:00 | m1 1 | 1',
        '01-03 12:00 | m1 1 | 2',
        '01-06 12:00 | m1 1 | 1',
        '01-06 12:00 | restore | 2 s01-02 e01-07',
        '01-07 12:00 | m1 1 | 3',
      ],
    },
    { rule: 'who never lost one is an issue', lines: ['01-02 12:00 | m1 1 | 1', '01-02 12:00 | restore refused | 1'] },
    {
      rule: 'what was lost last, even if it was shorter than what there is now',
      lines: ['01-02 12:00 | m1 1 | 1', '01-05 12:00 | m1 1 | 1', '01-06 12:00 | m1 1 | 2', '01-06 12:00 | restore | 1 s01-02 e01-07'],
    },
    {
      rule: 'and it can be lost again',
      lines: ['01-02 12:00 | m1 1 | 1', '01-06 12:00 | restore | 1', '01-07 00:00 | read | 0', '01-07 00:00 | restore | 1'],
    },
  ],
};

describe('The model: streaks', () => {
  for (const [heading, rows] of Object.entries(tables)) {
    describe(heading, () => {
      for (const row of rows) {
        it(row.rule, () => {
          const play = new Play(document(row));
          play.identify('ana', {});
          for (const line of row.lines) {
            const [when = '', what = '', expected = ''] = line.split(' | ').map((part) => part.trim());
            const zone = when.split(' ').length > 2 || row.zone === undefined ? '' : ` ${row.zone}`;
            play.at(when + zone);
            act(play, what);
            expect(streakOf(play, expected), line).to.equal(expected);
          }
        });
      }
    });
  }

  describe('what is shown', () => {
    it('the history ends with the current period and says how each was kept', () => {
      const play = new Play({ metrics: 1, streaks: { conditions: { m1: 1 }, freezes: { initial: 1, maximum: 1 } } });
      play.event('ana', 'm1', 1);
      play.at('01-03 12:00').event('ana', 'm1', 1);
      play.model.createPause('ana', '2040-01-05', '2040-01-05');
      play.at('01-06 12:00').event('ana', 'm1', 1);
      const { streakHistory, pauses } = play.at('01-07 12:00').streak('ana', 7);
      const day = (date: string, length: number, usedFreeze: boolean, usedPause: boolean): object => ({
        periodStart: date,
        periodEnd: date,
        length,
        usedFreeze,
        usedPause,
      });
      expect(streakHistory).to.deep.equal([
        day('2040-01-01', 0, false, false),
        day('2040-01-02', 1, false, false),
        day('2040-01-03', 2, false, false),
        day('2040-01-04', 2, true, false),
        day('2040-01-05', 2, false, true),
        day('2040-01-06', 3, false, false),
        day('2040-01-07', 0, false, false),
      ]);
      expect(pauses).to.deep.equal([{ id: 'pause-1', start: '2040-01-05', end: '2040-01-05' }]);
    });

    it('the event says whether it extended the streak', () => {
      const play = new Play({ metrics: 1, streaks: { conditions: { m1: 2 } } });
      const extended = [1, 1, 1].map((value) => play.event('ana', 'm1', value).currentStreak.extended);
      expect(extended).to.deep.equal([false, true, false]);
    });

    it('several users are ranked, the longest first', () => {
      const play = new Play({ metrics: 1, streaks: { conditions: { m1: 1 } } });
      play.event('ana', 'm1', 1);
      play.event('bo', 'm1', 1);
      play.at('01-03 12:00').event('bo', 'm1', 1);
      const { body } = play.model.streaks(['nobody', 'ana', 'bo']);
      expect(body).to.deep.equal([
        { userId: 'bo', streakLength: 2, extended: '2040-01-03T12:00:00.000Z' },
        { userId: 'ana', streakLength: 1, extended: '2040-01-02T12:00:00.000Z' },
        { userId: 'nobody', streakLength: 0, extended: null },
      ]);
    });

    it('at most 100 freezes and 100 pauses', () => {
      const play = new Play({ metrics: 1, streaks: { conditions: { m1: 1 } } });
      play.event('ana', 'm1', 1);
      const freezes = Array.from({ length: 101 }, () => play.model.grantFreeze('ana').status);
      const pauses = Array.from({ length: 101 }, () => play.model.createPause('ana', '2040-02-01', '2040-02-01').status);
      const most = [...Array.from({ length: 100 }, () => 200), 422];
      expect([freezes, pauses]).to.deep.equal([most, most]);
      expect(play.model.createPause('ana', '2040-02-02', '2040-02-01').status, 'an end before its start').to.equal(422);
      expect(play.model.grantFreeze('nobody').status, 'an unknown user').to.equal(422);
    });
  });
});
