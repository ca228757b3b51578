import { expect } from 'chai';
import { emptyConfig, type ConfigDocument } from '../../src/config/schema/model.js';
import { newestOccurrence, scheduleKinds, type ScheduleKind } from '../../src/messages/rules/times.js';

describe('The newest round of e-mails', () => {
  type Settings = Partial<ConfigDocument['settings'] & Pick<ConfigDocument['streaks'], 'frequency'>>;
  const newest = (kind: ScheduleKind, { frequency = 'daily', ...settings }: Settings, zone: string, now: string): string | undefined => {
    const rules = {
      settings: { ...emptyConfig.settings, ...settings },
      streaks: { ...emptyConfig.streaks, enabled: true, frequency },
    };
    const round = newestOccurrence(kind, rules, zone, Date.parse(now));
    return round && new Date(round.at).toISOString();
  };
  const [recap, reactivation, reminder, achievement] = scheduleKinds;
  const weekly = { frequency: 'weekly' } as const;
  const sundays = { ...weekly, streakReminderWeekday: 'sunday' } as const;
  const monthly = { frequency: 'monthly' } as const;
  const at1 = { emailHour: 1 };
  const at2 = { emailHour: 2 };
  const at23 = { emailHour: 23, streakReminderHour: 23, recapFrequency: 'daily' } as const;
  type Case = readonly [what: string, kind: ScheduleKind, settings: Settings, zone: string, now: string, at: string | undefined];
  const cases: readonly Case[] = [
    ['at the hour itself', reactivation, at2, 'UTC', '2040-01-02T02:00:00Z', '2040-01-02T02:00:00.000Z'],
    ['just before it: yesterday’s', reactivation, at2, 'UTC', '2040-01-02T01:59:59Z', '2040-01-01T02:00:00.000Z'],
    [
      'a zone that is three quarters of an hour off',
      reactivation,
      at2,
      'Asia/Kathmandu',
      '2040-01-01T20:15:00Z',
      '2040-01-01T20:15:00.000Z',
    ],
    ['an hour that the day lacks', reactivation, at2, 'America/New_York', '2040-03-11T12:00:00Z', '2040-03-11T07:00:00.000Z'],
    ['the hour after one that the day has twice', reactivation, at2, 'Europe/Lisbon', '2040-10-28T12:00:00Z', '2040-10-28T02:00:00.000Z'],
    ['an hour that the day has twice', reactivation, at1, 'Europe/Lisbon', '2040-10-28T12:00:00Z', '2040-10-28T00:00:00.000Z'],
    ['an hour that the day has twice, in London', reactivation, at1, 'Europe/London', '2027-10-31T12:00:00Z', '2027-10-31T00:00:00.000Z'],
    [
      'an hour that the day has twice, in New York',
      reactivation,
      at1,
      'America/New_York',
      '2027-11-07T12:00:00Z',
      '2027-11-07T05:00:00.000Z',
    ],
    [
      'an hour that the day has twice, before it comes again',
      reactivation,
      at1,
      'America/New_York',
      '2027-11-07T05:30:00Z',
      '2027-11-07T05:00:00.000Z',
    ],
    [
      'an hour that the day has twice, in Los Angeles',
      reactivation,
      at1,
      'America/Los_Angeles',
      '2027-11-07T12:00:00Z',
      '2027-11-07T08:00:00.000Z',
    ],
    [
      'a midnight that the day has twice',
      reactivation,
      { emailHour: 0 },
      'America/Havana',
      '2027-11-07T12:00:00Z',
      '2027-11-07T04:00:00.000Z',
    ],
    ['the last hour, which the day lacks', recap, at23, 'America/Nuuk', '2027-03-28T00:59:00Z', '2027-03-28T00:59:00.000Z'],
    ['just before it: yesterday’s last hour', recap, at23, 'America/Nuuk', '2027-03-28T00:58:59Z', '2027-03-27T01:00:00.000Z'],
    ['the last hour of the next day', recap, at23, 'America/Nuuk', '2027-03-29T00:00:00Z', '2027-03-29T00:00:00.000Z'],
    [
      'a reminder at the last hour, which the day lacks',
      reminder,
      at23,
      'America/Nuuk',
      '2027-03-28T00:59:59Z',
      '2027-03-28T00:59:00.000Z',
    ],
    ['a recap on a Monday', recap, at2, 'UTC', '2040-01-02T12:00:00Z', '2040-01-02T02:00:00.000Z'],
    ['a recap on another day, no longer than a day ago', recap, at2, 'UTC', '2040-01-03T01:00:00Z', '2040-01-02T02:00:00.000Z'],
    ['a recap that is over for a day', recap, at2, 'UTC', '2040-01-03T02:00:00Z', undefined],
    ['a recap on a Sunday', recap, { ...at2, weekStart: 'sunday' }, 'UTC', '2040-01-01T12:00:00Z', '2040-01-01T02:00:00.000Z'],
    ['a daily recap', recap, { recapFrequency: 'daily' }, 'Asia/Tokyo', '2040-01-04T00:00:00Z', '2040-01-04T00:00:00.000Z'],
    ['a monthly recap', recap, { recapFrequency: 'monthly' }, 'UTC', '2040-02-01T09:00:00Z', '2040-02-01T09:00:00.000Z'],
    ['a yearly recap', recap, { recapFrequency: 'yearly' }, 'UTC', '2040-01-01T09:00:00Z', '2040-01-01T09:00:00.000Z'],
    ['a yearly recap on another first of a month', recap, { recapFrequency: 'yearly' }, 'UTC', '2040-02-01T09:00:00Z', undefined],
    ['a reminder', reminder, {}, 'Pacific/Kiritimati', '2040-01-02T06:00:00Z', '2040-01-02T06:00:00.000Z'],
    ['a reminder of yesterday', reminder, {}, 'UTC', '2040-01-03T00:00:00Z', undefined],
    ['a reminder on a day of 23 hours', reminder, {}, 'America/New_York', '2040-03-12T00:00:00Z', '2040-03-12T00:00:00.000Z'],
    ['a reminder on a day of 25 hours', reminder, {}, 'America/New_York', '2040-11-05T01:00:00Z', '2040-11-05T01:00:00.000Z'],
    ['a weekly reminder on a Friday', reminder, weekly, 'UTC', '2040-01-06T09:00:00Z', '2040-01-06T09:00:00.000Z'],
    ['a weekly reminder before Friday’s hour', reminder, weekly, 'UTC', '2040-01-06T08:59:59Z', undefined],
    ['a weekly reminder that is late', reminder, weekly, 'UTC', '2040-01-07T08:59:59Z', '2040-01-06T09:00:00.000Z'],
    ['a weekly reminder that is late by a day', reminder, weekly, 'UTC', '2040-01-07T09:00:00Z', undefined],
    ['a weekly reminder in a zone ahead', reminder, weekly, 'Asia/Tokyo', '2040-01-06T00:00:00Z', '2040-01-06T00:00:00.000Z'],
    ['a weekly reminder on another day', reminder, sundays, 'UTC', '2040-01-08T09:00:00Z', '2040-01-08T09:00:00.000Z'],
    ['a weekly reminder of a week that is over', reminder, sundays, 'UTC', '2040-01-09T08:00:00Z', undefined],
    ['a monthly reminder on the 25th', reminder, monthly, 'UTC', '2040-01-25T09:00:00Z', '2040-01-25T09:00:00.000Z'],
    ['a monthly reminder on the 24th', reminder, monthly, 'UTC', '2040-01-24T12:00:00Z', undefined],
    [
      'a monthly reminder on the 31st',
      reminder,
      { ...monthly, streakReminderDay: 31 },
      'UTC',
      '2040-02-29T09:00:00Z',
      '2040-02-29T09:00:00.000Z',
    ],
    ['an achievement', achievement, {}, 'UTC', '2040-01-03T17:00:00Z', '2040-01-03T17:00:00.000Z'],
    ['an achievement that is late', achievement, {}, 'UTC', '2040-01-04T16:59:59Z', '2040-01-03T17:00:00.000Z'],
  ];
  for (const [what, kind, settings, zone, now, at] of cases) {
    it(what, () => {
      expect(newest(kind, settings, zone, now)).to.equal(at);
    });
  }
});
