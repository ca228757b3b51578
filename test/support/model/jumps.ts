/** Where the clock goes in a history: on by some time, or to just before, at or after a moment at which something may happen. */
import { IANAZone } from 'luxon';
import { dateOf, dayMs, dayOf, hourMs, localDay, startOfDay } from './time.js';

export type Jump =
  | { readonly by: number }
  /** To the next midnight in a zone. */
  | { readonly to: 'midnight'; readonly zone: string; readonly offsetMs: number }
  /** To the next change of the zone's offset; midnight where there is none within a year. */
  | { readonly to: 'clockChange'; readonly zone: string; readonly offsetMs: number }
  /** To the next start of a date, `MM-DD`, in a zone; midnight if there is none within 400 days, as for a leap day. */
  | { readonly to: 'date'; readonly date: string; readonly zone: string; readonly offsetMs: number }
  /** To the next moment at which a run of days that began at the base date can be finalised: noon in UTC. */
  | { readonly to: 'noon'; readonly offsetMs: number };

const horizonDays = 400;

/** The first moment after `nowMs` at which a zone has another offset; undefined if there is none soon. */
function nextClockChange(name: string, nowMs: number): number | undefined {
  const zone = IANAZone.create(name);
  const offset = zone.offset(nowMs);
  const day = Array.from({ length: horizonDays }, (_, index) => nowMs + (index + 1) * dayMs).find((at) => zone.offset(at) !== offset);
  if (day === undefined) return undefined;
  let [before, after] = [day - dayMs, day];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (zone.offset(middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}

function nextDate(date: string, zone: string, nowMs: number): number | undefined {
  const today = localDay(zone, nowMs);
  const day = Array.from({ length: horizonDays }, (_, index) => today + 1 + index).find((each) => dateOf(each).endsWith(`-${date}`));
  return day === undefined ? undefined : startOfDay(zone, day);
}

function target(jump: Exclude<Jump, { by: number }>, nowMs: number): number {
  if (jump.to === 'noon') return Math.floor((nowMs + 12 * hourMs) / dayMs) * dayMs + 12 * hourMs;
  const midnight = startOfDay(jump.zone, localDay(jump.zone, nowMs) + 1);
  switch (jump.to) {
    case 'midnight':
      return midnight;
    case 'clockChange':
      return nextClockChange(jump.zone, nowMs) ?? midnight;
    case 'date':
      return nextDate(jump.date, jump.zone, nowMs) ?? midnight;
  }
}

/** Where a jump leads from `nowMs`: never back. */
export function resolveJump(jump: Jump, nowMs: number): number {
  return Math.max(nowMs, 'by' in jump ? nowMs + jump.by : target(jump, nowMs) + jump.offsetMs);
}

/** The dates that a pause covers which starts so many days from now, in UTC, and lasts so many. */
export function pauseDates(nowMs: number, startsInDays: number, lastsDays: number): { start: string; end: string } {
  const first = dayOf(dateOf(Math.floor(nowMs / dayMs))) + startsInDays;
  return { start: dateOf(first), end: dateOf(first + lastsDays - 1) };
}
