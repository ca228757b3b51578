import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { attributeFilters } from '../../src/api/query.js';
import { addressWith, pageNumber } from '../../src/dashboard/page/scope/address.js';
import { wholeBatch } from '../../src/dashboard/page/api/errors.js';
import { findByKey } from '../../src/dashboard/page/api/find-by-key.js';
import { given } from '../../src/dashboard/page/api/given.js';
import { daysOf, firstDay } from '../../src/dashboard/page/screens/achievements/days.js';
import { filterValue } from '../../src/dashboard/page/screens/common/filters.js';
import { repeats, groupName, groupText, runName, runOfDate } from '../../src/dashboard/page/screens/leaderboards/groups.js';
import { announcementOf, movesBetween, moveText, type Place } from '../../src/dashboard/page/screens/leaderboards/moves.js';
import { runbooks } from '../../src/dashboard/page/screens/common/runbooks.js';

const place = (userId: string, rank: number, value: number, userName: string | null = null): Place => ({ userId, userName, rank, value });

describe('Addresses of the dashboard', () => {
  const addresses: readonly (readonly [changes: Record<string, string | number | undefined>, address: string])[] = [
    [{}, '/b?run=2040-01-01&q=a+b'],
    [{ q: 'ü&=?' }, '/b?run=2040-01-01&q=%C3%BC%26%3D%3F'],
    [{ page: 2 }, '/b?run=2040-01-01&q=a+b&page=2'],
    [{ q: '', run: undefined }, '/b'],
  ];
  for (const [changes, address] of addresses) {
    it(`with ${JSON.stringify(changes)} hold what else they held, and lead to the first page unless they name one`, () => {
      expect(addressWith('/b', { run: '2040-01-01', q: 'a b', page: '7' }, changes)).to.equal(address);
    });
  }

  it('name a page by a number from 1', () => {
    expect([undefined, '', '0', '-1', '1.5', 'x', '3'].map(pageNumber)).to.deep.equal([1, 1, 1, 1, 1, 1, 3]);
  });

  it('name a range of days that the charts have', () => {
    expect([undefined, '7', '8', '365', 'x'].map(daysOf)).to.deep.equal([30, 7, 30, 365, 30]);
    expect(firstDay('2040-03-01', 7)).to.equal('2040-02-24');
    expect(firstDay('2040-03-01', 1)).to.equal('2040-03-01');
  });

  it('filter by a value of the API alone', () => {
    const names = { email: 'Email', push: 'Push' };
    expect([undefined, 'push', 'sms', 'toString'].map((text) => filterValue(names, text))).to.deep.equal([
      undefined,
      'push',
      undefined,
      undefined,
    ]);
  });
});

describe('Calls of the dashboard', () => {
  it('fail with the reason of each item of a batch that failed', () => {
    expect(wholeBatch({ data: { issues: [], created: 1 } })).to.deep.include({ created: 1 });
    expect(() => wholeBatch({ data: { issues: [{ message: 'No key.' }, { message: 'No name.' }] } })).to.throw('No key.\nNo name.');
  });

  it('leave out parameters without a value', () => {
    expect(given({ run: undefined, limit: 0, group: '' })).to.deep.equal({ limit: 0, group: '' });
  });

  it('find an object by its key on any page of a list', async () => {
    const objects = Array.from({ length: 250 }, (_, i) => ({ key: `k${i}` }));
    const read = ({ limit, skip }: { limit: number; skip: number }) => Promise.resolve({ data: objects.slice(skip, skip + limit) });
    expect(await findByKey('k249', read)).to.deep.equal({ key: 'k249' });
    expect(await findByKey('k250', read)).to.equal(undefined);
  });
});

describe('The screen of a leaderboard', () => {
  const values: readonly string[] = ['London', 'Washington, D.C.', 'a,plan:pro', 'back\\slash', 'x\\,y', '', 'a:b'];
  for (const value of values) {
    it(`names the group ${JSON.stringify(value)} as the API reads it`, () => {
      const attributes = [
        { key: 'city', value },
        { key: 'plan', value: 'pro' },
      ];
      expect(attributeFilters.parse(groupText(attributes))).to.deep.equal(
        new Map([
          ['city', value],
          ['plan', 'pro'],
        ]),
      );
    });
  }

  it('names groups and runs in words', () => {
    expect(groupName([{ key: 'city', value: 'Oslo' }])).to.equal('Oslo');
    expect(
      groupName([
        { key: 'city', value: 'Oslo' },
        { key: 'plan', value: '' },
      ]),
    ).to.equal('Oslo · (empty)');
    expect(runName({ start: '2040-01-01', end: '2040-01-07' })).to.equal('Jan 1, 2040 to Jan 7, 2040');
    expect(runName({ start: '2040-01-01', end: '2040-01-01' })).to.equal('Jan 1, 2040');
    expect(runName({ start: '2040-01-01', end: null })).to.equal('from Jan 1, 2040');
    expect([repeats(null, 0), repeats('day', 1), repeats('day', 7), repeats('month')]).to.deep.equal([
      'never',
      'every day',
      'every 7 days',
      'never',
    ]);
  });

  it('finds the run of a date, its first and last day included', () => {
    const runs = [
      { start: '2040-01-08', end: null },
      { start: '2040-01-01', end: '2040-01-07' },
    ];
    const starts = ['2039-12-31', '2040-01-01', '2040-01-07', '2041-01-01'].map((date) => runOfDate(runs, date)?.start);
    expect(starts).to.deep.equal([undefined, '2040-01-01', '2040-01-01', '2040-01-08']);
  });

  const before = [place('ana', 1, 30, 'Ana'), place('bo', 2, 20), place('cy', 3, 10), place('dee', 4, 5)];
  const after = [place('bo', 1, 35), place('ana', 2, 30, 'Ana'), place('eve', 3, 12, 'Eve'), place('dee', 4, 7)];

  it('shows who moved, by how much, who is new and whose value alone changed', () => {
    const moves = movesBetween(before, after);
    expect([...moves].map(([user, move]) => [user, moveText(move)])).to.deep.equal([
      ['bo', '▲ 1, +15'],
      ['ana', '▼ 1'],
      ['eve', 'new'],
      ['dee', '+2'],
    ]);
    expect(movesBetween(after, after).size).to.equal(0);
    expect([...movesBetween(after, before)].map(([user, move]) => [user, moveText(move)])).to.deep.include(['dee', '−2']);
  });

  it('announces changed ranks to screen readers, and of many only the first', () => {
    expect(announcementOf(movesBetween(before, after))).to.equal(
      'bo moved from rank 2 to 1. Ana moved from rank 1 to 2. Eve is new on the page, at rank 3.',
    );
    expect(
      announcementOf(
        movesBetween(
          [],
          [1, 2, 3, 4, 5].map((rank) => place(`u${rank}`, rank, 1)),
        ),
      ),
    ).to.match(/2 other users moved\.$/);
    expect(announcementOf(movesBetween([place('ana', 1, 3)], [place('ana', 1, 4)]))).to.equal('');
  });
});

describe('The screen of the status', () => {
  it('names runbooks that exist', async () => {
    const text = await readFile(new URL('../../docs/operations/runbooks.md', import.meta.url), 'utf8');
    const headings = [...text.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(headings).to.include.members(Object.values(runbooks).flat());
  });
});
