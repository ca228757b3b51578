/**
 * A year of three users, day by day: actions, effects and reads. It is the year 2040: a
 * leap year that begins its weeks on Monday, 2 January. In 2040 the clocks change on 11 March and 4 November in New York, on 25 March and
 * 28 October in Lisbon, and on 1 April (back) and 30 September (forward) in Auckland.
 *
 * There are 2 freezes at first, another one after every 60 days (2 March, 1 May, 30 June, 29 August, 28 October, 27 December), and at most 3.
 */

/** What a day was like. All but `x` and `R` are days without an event of their own. */
export type Day =
  /** An event: the streak is a day longer. */
  | 'x'
  /** A freeze covers the day. */
  | 'f'
  /** A pause covers the day. */
  | 'p'
  /** A move over the date line took the day away: the streak is kept, and nothing is used. */
  | 's'
  /** The streak is lost, or there is none. */
  | '.'
  /** The streak that was lost last is restored; then an event. */
  | 'R';

export interface Life {
  readonly user: string;
  /** Where the user lives, from the day on which the events are sent from there. */
  readonly homes: readonly (readonly [from: string, zone: string])[];
  /** The days from 2 January to 1 January, in rows of four weeks that start with the date before them. */
  readonly days: readonly string[];
  /** What else happens: `again` is an event that must not extend the streak. */
  readonly happens: readonly (readonly [when: string, what: string])[];
  /** What is then seen: length, freezes, the day on which the streak expires, and its first day. */
  readonly seen: readonly (readonly [when: string, length: number, freezes: number, expires: string | null, started?: string])[];
}

/** When the day's event is sent, local time, from Monday to Sunday: Wednesday's last second is followed by Thursday's first. */
export const times = ['07:30', '12:00', '23:59:59', '00:00:00', '18:45', '23:30', '00:30'] as const;

const ana: Life = {
  user: 'ana',
  homes: [
    ['01-02', 'NZ'],
    ['06-12', 'HI'],
    ['07-17', 'NZ'],
    ['11-20', 'KT'],
  ],
  days: [
    '01-02 xxxxxxx xxxxxxx xxxfxxx xxxxxxx',
    '01-30 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // The first of April has 25 hours.
    '02-27 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '03-26 xxxxxxf xxxxxxx xxxxxxx xxxxxxx',
    '04-23 xxxxxxx ppppppp pppxxxx xxxxxxx',
    '05-21 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '06-18 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // She leaves Honolulu on the morning of the 16th and arrives on that of the 17th.
    '07-16 sxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '08-13 xxxxxxx xxxxxxx xxfff.x Rxxxxxx',
    // The 30th of September has 23 hours.
    '09-10 xxxxxxx xxxxxxx xxxxxxf xxxxxxx',
    '10-08 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '11-05 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '12-03 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '12-31 xx',
  ],
  happens: [
    ['04-25 12:00 NZ', 'pauses 04-30 to 05-09'],
    // In Honolulu it is the evening of the day before: what is left of that day, and the next, she has had already.
    ['06-11 20:00 NZ', 'moves to HI'],
    ['06-10 22:30 HI', 'again'],
    ['06-11 12:00 HI', 'again'],
    ['07-16 09:00 HI', 'moves to NZ'],
    ['09-03 07:00 NZ', 'restores the streak'],
    ['09-15 12:00 NZ', 'gets a freeze'],
    ['11-19 20:00 NZ', 'moves to KT'],
  ],
  seen: [
    // 92 days, two of them covered.
    ['04-02 08:00 NZ', 90, 1, '04-03', '01-02'],
    // 30 + 29 + 31 + 29 days up to 29 April, without those two.
    ['05-05 12:00 NZ', 117, 2, '05-05', '01-02'],
    // 33 more, from 10 May to 11 June. In Honolulu it is the 10th, and the streak waits for the 12th.
    ['06-10 22:31 HI', 150, 2, '06-12'],
    ['06-11 23:59 HI', 150, 2, '06-12'],
    // 34 more up to 15 July, and the 17th.
    ['07-16 08:59 HI', 184, 3, '07-16'],
    ['07-17 07:00 NZ', 184, 3, '07-17'],
    ['07-17 12:01 NZ', 185, 3, '07-18'],
    // 42 more up to 28 August; the three freezes are gone.
    ['09-01 23:59:59 NZ', 227, 0, '09-01', '01-02'],
    ['09-02 00:00 NZ', 0, 0, null],
    ['09-02 00:31 NZ', 1, 0, '09-03', '09-02'],
    ['09-03 07:01 NZ', 227, 0, '09-03', '01-02'],
    ['09-03 07:31 NZ', 228, 0, '09-04', '01-02'],
    // 26 more up to 29 September, and 1 October. The freeze that was granted covered the 30th.
    ['09-30 23:59:59 NZ', 254, 1, '09-30'],
    ['10-01 08:00 NZ', 255, 0, '10-02'],
    // 366 days: six covered by freezes, ten by the pause, one by the date line, one missed, one that belonged to the lost streak.
    ['2041-01-01 23:59 KT', 347, 2, '2041-01-02', '01-02'],
  ],
};

const hoku: Life = {
  user: 'hoku',
  homes: [
    ['01-02', 'HI'],
    ['02-21', 'NY'],
    ['09-18', 'LX'],
    ['12-04', 'HI'],
  ],
  days: [
    '01-02 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '01-30 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // The 11th of March has 23 hours.
    '02-27 xxxxxxx xxxxxxf xxxxxxx xxxxxxx',
    '03-26 pppppxx xxxxxxx xxxxxxx xxxxxxx',
    '04-23 xxxxxxx xxfff.. .xxxxxx xxxxxxx',
    '05-21 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '06-18 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '07-16 xxxxxxx xfxxxxx xxxxxxx xxxxxxx',
    '08-13 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '09-10 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // The 28th of October has 25 hours.
    '10-08 xxxxxxx xxxxxxx xxxxxxf xxxxxxx',
    '11-05 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '12-03 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '12-31 xx',
  ],
  happens: [
    ['02-20 12:00 HI', 'moves to NY'],
    ['03-20 12:00 NY', 'pauses 03-26 to 03-30'],
    // It is an hour past midnight in Lisbon.
    ['09-17 20:00 NY', 'moves to LX'],
    // It is the evening of the 2nd in Honolulu.
    ['12-03 08:00 LX', 'moves to HI'],
    ['12-02 22:30 HI', 'again'],
    ['12-03 12:00 HI', 'again'],
  ],
  seen: [
    // 30 days in January, 20 in February.
    ['02-20 17:30 NY', 50, 2, '02-21', '01-02'],
    // 9 + 10 days up to 10 March, and the 12th.
    ['03-11 23:59:59 NY', 69, 3, '03-11'],
    ['03-12 08:00 NY', 70, 2, '03-13'],
    // 13 up to 25 March, 32 after the pause.
    ['05-05 12:00 NY', 115, 0, '05-05', '01-02'],
    ['05-06 12:00 NY', 0, 0, null],
    ['05-08 12:01 NY', 1, 0, '05-09', '05-08'],
    // 24 + 30 + 31 + 31 + 17 days, one of them covered.
    ['09-18 01:30 LX', 132, 1, '09-18', '05-08'],
    // 40 up to 27 October, and the 29th. A freeze was earned and one was used on the 28th.
    ['10-29 08:00 LX', 173, 1, '10-30'],
    // 35 more up to 3 December, which has not begun yet in Honolulu.
    ['12-02 22:31 HI', 208, 1, '12-04'],
    ['2041-01-01 23:59 HI', 237, 2, '2041-01-02', '05-08'],
  ],
};

const kiran: Life = {
  user: 'kiran',
  homes: [
    ['01-02', 'KT'],
    ['03-06', 'LX'],
    ['10-09', 'NY'],
    ['12-18', 'KT'],
  ],
  days: [
    '01-02 xxfxxfx xxx.xxx xxxxxxx xxxxxxx',
    '01-30 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // The 25th of March has 23 hours.
    '02-27 xxxxxxx xxxxxxx xxxxxxx xxxxxxf',
    '03-26 xxxxxxx xxxxxxx pppppxx xxxxxxx',
    '04-23 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '05-21 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '06-18 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '07-16 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '08-13 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    '09-10 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // The 4th of November has 25 hours.
    '10-08 xxxxxxx xxxxxxx xxxxxxx xxxxxxf',
    '11-05 xxxxxxx xxxxxxx xxxxxxx xxxxxxx',
    // The 17th, in New York, had ended there when the event of the 18th came from Kathmandu.
    '12-03 xxxxxxx xxxxxxx fxxxxxx xxxxxxx',
    '12-31 xx',
  ],
  happens: [
    ['03-05 10:00 KT', 'moves to LX'],
    ['04-01 12:00 LX', 'pauses 04-09 to 04-13'],
    ['10-08 20:00 LX', 'moves to NY'],
    ['12-17 20:00 NY', 'moves to KT'],
  ],
  seen: [
    ['01-09 08:00 KT', 6, 0, '01-10', '01-02'],
    ['01-12 23:59:59 KT', 8, 0, '01-12', '01-02'],
    ['01-13 00:00 KT', 0, 0, null],
    // 19 + 29 + 5 days.
    ['03-05 12:00 LX', 53, 1, '03-06', '01-13'],
    // 19 more up to 24 March, and the 26th.
    ['03-25 23:59:59 LX', 72, 1, '03-25'],
    ['03-26 08:00 LX', 73, 0, '03-27'],
    // 13 more up to 8 April.
    ['04-11 12:00 LX', 86, 0, '04-11', '01-13'],
    // 17 + 31 + 30 + 31 + 31 + 30 + 8 days.
    ['10-08 16:00 NY', 264, 3, '10-09', '01-13'],
    // 26 more up to 3 November, and the 5th.
    ['11-05 08:00 NY', 291, 2, '11-06'],
    // 41 more up to 16 December. The 17th ends in New York at 10:45 in Kathmandu.
    ['12-18 10:44:59 KT', 332, 2, '12-18'],
    ['12-18 10:45 KT', 332, 1, '12-18'],
    ['2041-01-01 23:59 KT', 347, 2, '2041-01-02', '01-13'],
  ],
};

export const lives: readonly Life[] = [ana, hoku, kiran];
