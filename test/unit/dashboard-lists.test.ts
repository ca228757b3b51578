import { expect } from 'chai';
import { momentIn } from '../../src/dashboard/page/scope/zone-time.js';
import { idsOf, listOfFile } from '../../src/dashboard/page/screens/common/user-list.js';

describe('Times of a form', () => {
  const cases: readonly (readonly [zone: string, local: string, moment: string])[] = [
    ['UTC', '2040-01-02T12:30', '2040-01-02T12:30:00.000Z'],
    ['America/New_York', '2040-01-02T12:30', '2040-01-02T17:30:00.000Z'],
    ['Pacific/Kiritimati', '2026-01-01T00:00', '2025-12-31T10:00:00.000Z'],
    ['Asia/Kathmandu', '2026-01-01T00:00', '2025-12-31T18:15:00.000Z'],
    // Clocks are set back at 3:00, and forward at 2:00.
    ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
    ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
    ['Europe/Berlin', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
  ];
  for (const [zone, local, moment] of cases) it(`in ${zone}: ${local}`, () => expect(momentIn(zone, local)).to.equal(moment));
});

describe('A list of users', () => {
  it('has each id once, without spaces around it and empty lines', () => {
    expect(idsOf(' ana \r\n\nben\nana\nc,d')).to.deep.equal(['ana', 'ben', 'c,d']);
  });

  it('of a file is its lines, or the first column of CSV without its title', () => {
    expect(listOfFile('users.txt', 'a,b\nc')).to.equal('a,b\nc');
    expect(idsOf(listOfFile('Users.CSV', 'id,name\r\nana,A\r\n"x, ""y""",Y\r\n'))).to.deep.equal(['ana', 'x, "y"']);
    expect(idsOf(listOfFile('users.csv', 'ana\nuserId\n'))).to.deep.equal(['ana', 'userId']);
  });
});
