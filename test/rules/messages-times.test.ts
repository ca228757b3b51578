import { expect } from 'chai';
import { type ConfigDocument, emptyConfig } from '../../src/config/schema/model.js';
import { achievementDueAt, sendableAt } from '../../src/messages/rules/times.js';

type Messages = Partial<ConfigDocument['messages']>;

const rulesOf = (messages: Messages) => ({
  settings: emptyConfig.settings,
  streaks: emptyConfig.streaks,
  messages: { ...emptyConfig.messages, ...messages },
});
const iso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString().replace('.000Z', 'Z');

describe('The time of a message about an achievement', () => {
  type Case = readonly [what: string, zone: string, completed: string, due: string, messages?: Messages];
  const cases: readonly Case[] = [
    ['in the morning: 17:00', 'UTC', '2040-01-03T00:00:00Z', '2040-01-03T17:00:00Z'],
    ['so late before 17:00 that others may join it', 'UTC', '2040-01-03T16:55:00Z', '2040-01-03T17:05:00Z'],
    ['at 17:00: ten minutes later', 'UTC', '2040-01-03T17:00:00Z', '2040-01-03T17:10:00Z'],
    ['in the evening: ten minutes later', 'UTC', '2040-01-03T20:40:00Z', '2040-01-03T20:50:00Z'],
    ['at 20:58: before 21:00', 'UTC', '2040-01-03T20:58:00Z', '2040-01-03T20:59:00Z'],
    ['in the last minute: at once', 'UTC', '2040-01-03T20:59:30Z', '2040-01-03T20:59:30Z'],
    ['at 21:00: 17:00 of the next day', 'UTC', '2040-01-03T21:00:00Z', '2040-01-04T17:00:00Z'],
    [
      'with achievements that do not wait for others: at once',
      'UTC',
      '2040-01-03T17:30:00Z',
      '2040-01-03T17:30:00Z',
      { achievementGroupMinutes: 0 },
    ],
    [
      'with achievements that wait for hours: before 21:00',
      'UTC',
      '2040-01-03T17:30:00Z',
      '2040-01-03T20:59:00Z',
      { achievementGroupMinutes: 240 },
    ],
    ['in Kathmandu', 'Asia/Kathmandu', '2040-01-03T15:15:00Z', '2040-01-04T11:15:00Z'],
    ['in Berlin, before clocks go forward', 'Europe/Berlin', '2040-03-24T20:30:00Z', '2040-03-25T15:00:00Z'],
    ['in Berlin, before clocks go back', 'Europe/Berlin', '2040-10-27T19:30:00Z', '2040-10-28T16:00:00Z'],
    ['in New York, on the morning on which clocks go forward', 'America/New_York', '2040-03-11T06:30:00Z', '2040-03-11T21:00:00Z'],
    ['in New York, on the morning on which clocks go back', 'America/New_York', '2040-11-04T05:30:00Z', '2040-11-04T22:00:00Z'],
    ['in Apia, which skipped a day', 'Pacific/Apia', '2011-12-30T07:30:00Z', '2011-12-31T03:00:00Z'],
    ['in Nuuk, a day before clocks go forward over 23:30', 'America/Nuuk', '2027-03-27T01:30:00Z', '2027-03-27T19:00:00Z'],
  ];
  for (const [what, zone, completed, due, messages = {}] of cases) {
    it(`completed ${what}`, () => {
      expect(iso(achievementDueAt(rulesOf(messages), zone, Date.parse(completed)))).to.equal(due);
    });
  }
});

describe('The time from which a message may be sent', () => {
  type Case = readonly [what: string, messages: Messages, zone: string, at: string, sendable: string | undefined];
  const over = {};
  const within = { quietFromHour: 12, quietToHour: 14 };
  const none = { quietFromHour: null, quietToHour: null };
  const recaps: readonly Case[] = [
    ['before quiet hours', over, 'UTC', '2040-01-03T21:59:59Z', '2040-01-03T21:59:59Z'],
    ['at their start', over, 'UTC', '2040-01-03T22:00:00Z', '2040-01-04T08:00:00Z'],
    ['after midnight', over, 'UTC', '2040-01-03T00:30:00Z', '2040-01-03T08:00:00Z'],
    ['at their end', over, 'UTC', '2040-01-03T08:00:00Z', '2040-01-03T08:00:00Z'],
    ['at night, without quiet hours', none, 'UTC', '2040-01-03T03:00:00Z', '2040-01-03T03:00:00Z'],
    ['before quiet hours within a day', within, 'UTC', '2040-01-03T11:59:59Z', '2040-01-03T11:59:59Z'],
    ['at the start of quiet hours within a day', within, 'UTC', '2040-01-03T12:00:00Z', '2040-01-03T14:00:00Z'],
    ['at the end of quiet hours within a day', within, 'UTC', '2040-01-03T14:00:00Z', '2040-01-03T14:00:00Z'],
    ['in a zone three quarters of an hour off', over, 'Asia/Kathmandu', '2040-01-03T18:15:00Z', '2040-01-04T02:15:00Z'],
    ['in the night in which clocks go forward', over, 'Europe/Berlin', '2040-03-24T22:00:00Z', '2040-03-25T06:00:00Z'],
    ['in the night in which clocks go back', over, 'Europe/Berlin', '2040-10-27T21:00:00Z', '2040-10-28T07:00:00Z'],
    [
      'with quiet hours that end at an hour which the day lacks',
      { quietFromHour: 22, quietToHour: 2 },
      'America/New_York',
      '2040-03-11T05:00:00Z',
      '2040-03-11T07:00:00Z',
    ],
    [
      'with quiet hours that end at a midnight which the day lacks',
      { quietFromHour: 22, quietToHour: 0 },
      'Africa/Cairo',
      '2040-04-26T21:00:00Z',
      '2040-04-26T22:00:00Z',
    ],
    [
      'with quiet hours that end at an hour which the day has twice',
      { quietFromHour: 22, quietToHour: 1 },
      'America/New_York',
      '2040-11-04T04:30:00Z',
      '2040-11-04T05:00:00Z',
    ],
    [
      'when the hour comes again at which quiet hours have ended',
      { quietFromHour: 22, quietToHour: 1 },
      'America/New_York',
      '2040-11-04T06:30:00Z',
      '2040-11-04T06:30:00Z',
    ],
    [
      'with quiet hours that end within two hours which come again',
      { quietFromHour: 22, quietToHour: 2 },
      'Antarctica/Troll',
      '2040-10-28T01:30:00Z',
      '2040-10-28T02:00:00Z',
    ],
    ['in Nuuk, a day before clocks go forward over 23:30', over, 'America/Nuuk', '2027-03-27T01:30:00Z', '2027-03-27T10:00:00Z'],
    ['in the night before a day that Apia skipped', over, 'Pacific/Apia', '2011-12-30T09:00:00Z', '2011-12-30T18:00:00Z'],
  ];
  for (const [what, messages, zone, at, sendable] of recaps) {
    it(what, () => {
      expect(iso(sendableAt('recap', rulesOf(messages), zone, Date.parse(at)))).to.equal(sendable);
    });
  }

  const achievements: readonly Case[] = [
    ['in their hours', over, 'UTC', '2040-01-03T17:00:00Z', '2040-01-03T17:00:00Z'],
    ['after their hours', over, 'UTC', '2040-01-03T21:00:00Z', '2040-01-04T17:00:00Z'],
    ['with quiet hours in the middle', { quietFromHour: 18, quietToHour: 20 }, 'UTC', '2040-01-03T18:30:00Z', '2040-01-03T20:00:00Z'],
    ['with quiet hours from the middle on', { quietFromHour: 19, quietToHour: 8 }, 'UTC', '2040-01-03T19:30:00Z', '2040-01-04T17:00:00Z'],
    ['with quiet hours up to the middle', { quietFromHour: 8, quietToHour: 19 }, 'UTC', '2040-01-03T12:00:00Z', '2040-01-03T19:00:00Z'],
    ['never if all of their hours are quiet', { quietFromHour: 16, quietToHour: 21 }, 'UTC', '2040-01-03T12:00:00Z', undefined],
    [
      'never if all of their hours are quiet, over midnight',
      { quietFromHour: 17, quietToHour: 9 },
      'UTC',
      '2040-01-03T12:00:00Z',
      undefined,
    ],
  ];
  for (const [what, messages, zone, at, sendable] of achievements) {
    it(`about achievements ${what}`, () => {
      expect(iso(sendableAt('achievement_completed', rulesOf(messages), zone, Date.parse(at)))).to.equal(sendable);
    });
  }
});
