import { expect } from 'chai';
import type { Leaderboard, PointsSystem } from '../../src/config/schema/model.js';
import { named } from '../../src/redis/layout.js';
import { compileBoard } from '../../src/plan/boards.js';
import { levelsOf } from '../../src/plan/points.js';
import { boardMember, firstLongSeq, parseMember } from '../../src/redis/boards.js';
import { packMessage, unpackMessage } from '../../src/redis/encoding.js';
import { isBelow } from '../../src/redis/partition.js';
import { groupOf, groupValues, runOf } from '../../src/responses/leaderboards.js';
import { levelAt } from '../../src/responses/points.js';
import { type Frequency, dateToDay, firstDayOf, periodOf } from '../../src/shared/calendar.js';
import { deviceOf } from '../../src/shared/device-tokens.js';
import { limits } from '../../src/shared/limits.js';
import { loadLuaFunctions, type LuaFunctions } from '../support/lua-functions.js';

/** What exists in TypeScript and in Lua, since both need it without asking the other, has to give the same on these vectors. */
describe('TypeScript and Lua agree on', () => {
  let lua: LuaFunctions;
  before(async () => {
    lua = await loadLuaFunctions({
      run: `return require('calendar').run(cjson.decode(args[1]), tonumber(args[2]))`,
      period: `local calendar = require('calendar')
        local period = calendar.period(args[1], tonumber(args[2]), tonumber(args[3]))
        return period .. ' ' .. calendar.first_day(args[1], period, tonumber(args[3]))`,
      group: `local attributes, breakdown = {}, {}
        for i, value in ipairs(args) do breakdown[i], attributes[tostring(i)] = tostring(i), value end
        return require('boards').group(attributes, breakdown)`,
      member: `local boards = require('boards')
        local member = boards.member(tonumber(args[1]), args[2])
        return member:gsub('.', function(c) return string.format('%02x', c:byte()) end) .. ' ' .. boards.user_of(member)`,
      level: `return require('points').level_at(cjson.decode(args[1]), tonumber(args[2]))`,
      device: `return require('devices').of_token(args[1])`,
      below: `return tostring(require('partition').is_below(args[1], args[2]))`,
      entry: `local packed = cmsgpack.pack(require('contract').list_entry(cmsgpack.unpack(args[1])))
        return packed:gsub('.', function(c) return string.format('%02x', c:byte()) end)`,
    });
  });
  after(() => lua.stop());

  const board = (start: string, runUnit: 'day' | 'month' | 'year', runInterval: number): Leaderboard =>
    ({
      no: 7,
      rankBy: 'metric',
      metricId: 'm',
      start,
      end: null,
      runUnit,
      runInterval,
      startTime: null,
      endTime: null,
      breakdownAttributes: [],
      maxParticipants: 10,
    }) as unknown as Leaderboard;

  const days = [
    '2023-12-31',
    '2024-01-31',
    '2024-02-28',
    '2024-02-29',
    '2024-03-01',
    '2025-02-28',
    '2025-03-01',
    '2028-02-29',
    '2031-07-04',
  ];
  for (const [start, unit, interval] of [
    ['2023-05-17', 'day', 1],
    ['2023-05-17', 'day', 7],
    ['2023-01-31', 'month', 1],
    ['2023-08-31', 'month', 3],
    ['2020-02-29', 'year', 1],
    ['2020-02-29', 'year', 2],
  ] as const) {
    it(`the runs of ${interval} ${unit} from ${start}`, async () => {
      const leaderboard = board(start, unit, interval);
      const plan = JSON.stringify(compileBoard(leaderboard, () => 1));
      for (const date of days) {
        const day = dateToDay(date);
        expect(await lua.call('run', [plan, day]), date).to.equal(String(runOf(leaderboard, day)));
      }
    });
  }

  it('the period that a day is in, and its first day', async () => {
    for (const frequency of ['daily', 'weekly', 'monthly'] as const satisfies readonly Frequency[]) {
      for (const shift of [3, 4]) {
        for (const date of ['1999-12-31', ...days]) {
          const period = periodOf(frequency, dateToDay(date), shift);
          const expected = `${period} ${firstDayOf(frequency, period, shift)}`;
          expect(await lua.call('period', [frequency, dateToDay(date), shift]), `${frequency} ${date}`).to.equal(expected);
        }
      }
    }
  });

  it('the group of attribute values, cut at whole characters', async () => {
    const long = 'é'.repeat(limits.maxGroupBytes);
    for (const values of [['a'], [''], ['1:a', 'b'], ['ü:', '日本', '😀'], [long], [`a${long}`, long], ['x', '😀'.repeat(500), long]]) {
      const group = groupOf(values);
      expect(await lua.call('group', values)).to.equal(group);
      expect(groupValues(group)).to.have.length(values.length);
    }
  });

  it('the members of boards', async () => {
    for (const seq of [1, 255, 65_536, firstLongSeq - 1, firstLongSeq, firstLongSeq + 1, 2 ** 40]) {
      const member = boardMember(seq, 'zoë');
      expect(await lua.call('member', [seq, 'zoë'])).to.equal(`${member.toString('hex')} zoë`);
      expect(parseMember(member)).to.deep.equal({ user: 'zoë', seq });
    }
  });

  it('the level of a total', async () => {
    const levels = [0, 10, 10.5, 200].map((points, i) => ({ no: 4 - i, points, archived: false, key: `l${i}` }));
    const system = { levels: [...levels, { no: 9, points: 5, archived: true }] } as unknown as PointsSystem;
    for (const total of [-1, 0, 4, 5, 9.99, 10, 10.4, 10.5, 199, 200, 1e15]) {
      expect(await lua.call('level', [JSON.stringify(levelsOf(system)), total]), String(total)).to.equal(
        String(levelAt(system, total)?.no ?? 0),
      );
    }
  });

  it('the device of a token', async () => {
    const tokens = [
      't',
      'fcm:t',
      'apns:t',
      'expo:ExponentPushToken[t]',
      'ExponentPushToken[t]',
      'expo:fcm:t',
      'FCM:t',
      'sms:t',
      'expo:',
      ':t',
      'fcm:a\nb',
      'é:ü',
    ];
    for (const token of [...tokens, 'a1'.repeat(32)]) expect(await lua.call('device', [token]), token).to.equal(deviceOf(token));
  });

  it('the order of stream ids', async () => {
    const ids = ['0-0', '9-0', '10-0', '10-2', '10-10', '1763800000000-0', '1763800000000-18'];
    for (const a of ids) for (const b of ids) expect(await lua.call('below', [a, b]), `${a} ${b}`).to.equal(String(isBelow(a, b)));
  });

  it('the fields of a ledger entry', async () => {
    const entry = { kind: 'event', id: 'i', user: 'u', at: 1, day: 2, rev: 3, metric: 4, value: 5, total: 6, key: 'k', run: 7, max: 8 };
    const packed = Buffer.from(await lua.call('entry', [packMessage(entry) as unknown as string]), 'hex');
    const { version, ...fields } = named('entry', unpackMessage(packed) as unknown[]);
    expect([version, fields]).to.deep.equal([1, entry]);
  });
});
