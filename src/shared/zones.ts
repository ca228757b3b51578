import { IANAZone } from 'luxon';
import { dayMs } from './calendar.js';
import { limits } from './limits.js';
import { Memo } from './memo.js';

const minuteMs = 60_000;
/** The span of a zone's offsets: backwards for the test clock, forwards so that they are rarely computed. */
const zoneSpanBackMs = 400 * dayMs;
const zoneSpanForwardMs = 800 * dayMs;
/** No zone changes its offset twice within this time: the closest changes are Freetown's of 1939, 3.99 days apart, then Gaza's of 2040, 6.96 days. */
const stepMs = 3 * dayMs;

/** The offsets of a zone. Asking Intl for one takes microseconds, so that those at the ends of steps are cached, and the changes between them. */
class ZoneClock {
  private readonly zone: IANAZone;
  private readonly offsets = new Memo<number, number>(limits.maxCachedZoneOffsets);
  private readonly changes = new Memo<number, number>(limits.maxCachedZoneOffsets);

  constructor(name: string) {
    this.zone = IANAZone.create(name);
  }

  offsetAt(at: number): number {
    const step = Math.floor(at / stepMs);
    const change = this.changeIn(step);
    return this.offsetFrom(change !== undefined && at >= change ? step + 1 : step);
  }

  /** The changes of the offset after a moment, up to another one. */
  changesBetween(after: number, until: number): number[] {
    const changes: number[] = [];
    for (let step = Math.floor(after / stepMs); step * stepMs < until; step += 1) {
      const change = this.changeIn(step);
      if (change !== undefined && after < change && change <= until) changes.push(change);
    }
    return changes;
  }

  /** The first millisecond of the offset at the end of a step, if it is not the one at its start. */
  private changeIn(step: number): number | undefined {
    return this.offsetFrom(step) === this.offsetFrom(step + 1) ? undefined : this.changes.get(step, this.findChange);
  }

  private offsetFrom(step: number): number {
    return this.offsets.get(step, this.readOffset);
  }

  private readonly readOffset = (step: number): number => this.askIntl(step * stepMs);

  private readonly findChange = (step: number): number => {
    const offset = this.offsetFrom(step);
    let before = step * stepMs;
    let after = before + stepMs;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.askIntl(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  };

  /** luxon's offsets are fractions of minutes where a zone had seconds. */
  private askIntl(at: number): number {
    return Math.round(this.zone.offset(at) * minuteMs);
  }
}

const clocks = new Memo<string, ZoneClock>(limits.maxCachedZones);
const makeClock = (name: string): ZoneClock => new ZoneClock(name);
const clockOf = (zone: string): ZoneClock => clocks.get(zone, makeClock);

/** The offset of a known zone at a moment, in milliseconds east of UTC. */
export const offsetAt = (at: number, zone: string): number => clockOf(zone).offsetAt(at);

/** The local day of a moment, in days since 1970-01-01. */
export const localDayOf = (at: number, zone: string): number => Math.floor((at + offsetAt(at, zone)) / dayMs);

/**
 * The moment of a local time, which is in milliseconds since 1970-01-01 00:00 local time. Where clocks are put forward over it, the local time is
 * shown later by as much as they are; where they are put back, it occurs twice: the first moment that is not before `from` counts, or the second.
 */
export function momentOf(local: number, zone: string, from = -Infinity): number {
  const early = local - offsetAt(local - dayMs, zone);
  const late = local - offsetAt(local + dayMs, zone);
  if (early === late) return early;
  const moments = [early, late].filter((moment) => moment + offsetAt(moment, zone) === local);
  return moments.find((moment) => moment >= from) ?? moments.at(-1) ?? early;
}

/** The start of the span, then pairs of the end of a segment and its offset in minutes east of UTC. Times in ms since 1970. */
type ZoneOffsets = [from: number, ...segments: [untilMs: number, offsetMinutes: number][]];

/** The offsets of a known zone from about a year before `aroundMs` to about two years after it. */
export function zoneOffsets(name: string, aroundMs: number): ZoneOffsets {
  const clock = clockOf(name);
  const from = aroundMs - zoneSpanBackMs;
  const to = aroundMs + zoneSpanForwardMs;
  const segment = (until: number, at: number): [number, number] => [until, clock.offsetAt(at) / minuteMs];
  return [from, ...clock.changesBetween(from, to).map((change) => segment(change, change - 1)), segment(to, to)];
}
