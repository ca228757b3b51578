import { expect } from 'chai';
import { IANAZone } from 'luxon';
import { canonicalZone, dayMs } from '../../src/shared/calendar.js';
import { zoneNames } from '../../src/shared/zone-names.js';
import { localDayOf, momentOf, offsetAt, zoneOffsets } from '../../src/shared/zones.js';
import { Random, runSeed } from '../support/random.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const [firstYear, lastYear] = [2000, 2060];
const allZones = [...new Set([...zoneNames, ...Intl.supportedValuesOf('timeZone')])].filter((zone) => canonicalZone(zone) === zone);

/** Zones that change oddly between 2000 and 2060: by half an hour, for a month of fasting, at the end of a day, by a whole day, often. */
const oddZones = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Argentina/Tucuman',
  'America/Caracas',
  'America/Havana',
  'America/Nuuk',
  'America/Recife',
  'Antarctica/Casey',
  'Antarctica/Troll',
  'Asia/Gaza',
  'Asia/Pyongyang',
  'Australia/Lord_Howe',
  'Europe/Lisbon',
  'Pacific/Apia',
];
/** Changes before 2000: offsets with seconds, dates that were skipped or occurred twice, changes within days. */
const oddYears = [
  ['Africa/Monrovia', 1972],
  ['Africa/Tunis', 1943],
  ['America/Juneau', 1867],
  ['America/New_York', 1883],
  ['Asia/Manila', 1844],
  ['Europe/Dublin', 1916],
  ['Pacific/Kiritimati', 1994],
  ['Pacific/Kwajalein', 1993],
] as const;

/** What luxon says, in milliseconds. */
const offsetOf = (at: number, zone: string): number => Math.round(IANAZone.create(zone).offset(at) * minuteMs);

/** The changes that luxon shows in a year: days are compared, and halved. */
function changesIn(zone: string, year: number): number[] {
  const changes: number[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  for (let at = Date.UTC(year, 0, 1), offset = offsetOf(at, zone); at < end; at += dayMs) {
    const next = offsetOf(at + dayMs, zone);
    if (next === offset) continue;
    let [low, high] = [at, at + dayMs];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offsetOf(middle, zone) === offset) low = middle;
      else high = middle;
    }
    changes.push(high);
    offset = next;
  }
  return changes;
}

/** What momentOf has to give, from the offsets that luxon shows within 36 hours of a local time. */
function expectedMoment(local: number, zone: string, from: number): number {
  const around = Array.from({ length: 13 }, (_, i) => offsetOf(local + (i - 6) * 6 * hourMs, zone));
  const moments = around.map((offset) => local - offset).sort((a, b) => a - b);
  const shown = moments.filter((moment) => moment + offsetOf(moment, zone) === local);
  return shown.find((moment) => moment >= from) ?? shown.at(-1) ?? local - Math.min(...around);
}

function checkMoment(at: number, zone: string): void {
  const offset = offsetOf(at, zone);
  expect(offsetAt(at, zone), `the offset of ${zone} at ${at}`).to.equal(offset);
  expect(localDayOf(at, zone), `the day in ${zone} at ${at}`).to.equal(Math.floor((at + offset) / dayMs));
}

function checkLocal(local: number, zone: string, from = -Infinity): void {
  expect(momentOf(local, zone, from), `the moment of ${local} in ${zone} from ${from}`).to.equal(expectedMoment(local, zone, from));
}

const nearChange = [-dayMs, -hourMs, -30 * minuteMs, -1, 0, 1, 29 * minuteMs, 30 * minuteMs, hourMs, 2 * hourMs, 12 * hourMs, dayMs];

function checkChange(change: number, zone: string): void {
  const before = offsetOf(change - 1, zone);
  for (const after of nearChange) {
    checkMoment(change + after, zone);
    checkLocal(change + before + after, zone);
    checkLocal(change + before + after, zone, change);
  }
}

describe('Offsets and local times of zones', () => {
  const seed = runSeed();
  const random = new Random(seed);

  it(`equal luxon’s at random moments and at the changes of a year, in all ${allZones.length} zones (SEED=${seed})`, () => {
    const from = Date.UTC(firstYear, 0, 1);
    const span = Date.UTC(lastYear + 1, 0, 1) - from;
    for (const zone of allZones) {
      for (let i = 0; i < 10; i += 1) checkMoment(from + random.below(span), zone);
      for (let i = 0; i < 3; i += 1) checkLocal(from + random.below(span), zone);
      for (const change of changesIn(zone, firstYear + random.below(lastYear + 1 - firstYear))) checkChange(change, zone);
    }
  });

  for (const zone of oddZones) {
    it(`equal luxon’s at all changes of ${zone} from ${firstYear} to ${lastYear}`, () => {
      const years = Array.from({ length: lastYear + 1 - firstYear }, (_, i) => firstYear + i);
      const changes = years.flatMap((year) => changesIn(zone, year));
      expect(changes).not.to.be.empty;
      for (const change of changes) checkChange(change, zone);
    });
  }

  for (const [zone, year] of oddYears) {
    it(`equal luxon’s at the changes of ${zone} in ${year}`, () => {
      const changes = changesIn(zone, year);
      expect(changes).not.to.be.empty;
      for (const change of changes) checkChange(change, zone);
    });
  }
});

describe('The offsets of a zone over a span', () => {
  const isoChanges = (zone: string, around: number): string[] =>
    zoneOffsets(zone, around)
      .slice(1, -1)
      .map((segment) => new Date((segment as [number, number])[0]).toISOString());

  it('have both of two changes within a week, wherever the span begins', () => {
    for (let day = 0; day < 10; day += 1) {
      const changes = isoChanges('Asia/Gaza', Date.parse('2072-10-01T12:00:00Z') + day * dayMs);
      expect(changes).to.include.members(['2072-10-22T00:00:00.000Z', '2072-10-28T23:00:00.000Z']);
    }
  });

  it('are the span, and the offset up to each change and to the end', () => {
    const around = Date.parse('2026-11-27T12:00:00Z');
    expect(zoneOffsets('America/Nuuk', around)).to.deep.equal([
      around - 400 * dayMs,
      [Date.parse('2025-10-26T01:00:00Z'), -60],
      [Date.parse('2026-03-29T01:00:00Z'), -120],
      [Date.parse('2026-10-25T01:00:00Z'), -60],
      [Date.parse('2027-03-28T01:00:00Z'), -120],
      [Date.parse('2027-10-31T01:00:00Z'), -60],
      [Date.parse('2028-03-26T01:00:00Z'), -120],
      [Date.parse('2028-10-29T01:00:00Z'), -60],
      [around + 800 * dayMs, -120],
    ]);
  });
});
