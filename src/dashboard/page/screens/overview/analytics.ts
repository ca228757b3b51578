import type { components } from '../../api/schema/admin.js';

/** The ranges of days that the charts show. */
export const dayRanges = [7, 30, 90] as const;
const defaultRange = 30;
/** How many lines a chart has. */
const maxLines = 5;

/** The number of days that an address names. */
export const rangeOf = (text: string | undefined): number => dayRanges.find((range) => String(range) === text) ?? defaultRange;

/** The date so many days after another, or before it. */
export function dateAfter(date: string, days: number): string {
  const moved = new Date(`${date}T00:00:00Z`);
  moved.setUTCDate(moved.getUTCDate() + days);
  return moved.toISOString().slice(0, 10);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The sums of lists of numbers, place by place. */
export const sumByDay = (lists: readonly (readonly number[])[], days: number): number[] =>
  Array.from({ length: days }, (_, at) => sum(lists.map((list) => list[at] ?? 0)));

export type AnalyticsDays = components['schemas']['AnalyticsDays'];
export type AnalyticsStreaks = components['schemas']['AnalyticsStreaks'];

export interface Line {
  readonly label: string;
  readonly values: readonly number[];
}

/** The lines with the largest sums, by amount; the others are one line, where there are more than a chart has. Lines of zeros are left out. */
export function topLines(lines: readonly Line[], others: string): Line[] {
  const sizeOf = ({ values }: Line): number => sum(values.map(Math.abs));
  const sorted = lines.filter((line) => sizeOf(line) > 0).sort((a, b) => sizeOf(b) - sizeOf(a));
  if (sorted.length <= maxLines) return sorted;
  const rest = sorted.slice(maxLines - 1).map(({ values }) => values);
  return [...sorted.slice(0, maxLines - 1), { label: others, values: sumByDay(rest, rest[0]?.length ?? 0) }];
}

/** Points by trigger. The name of the system is in the labels where there are several. */
export function pointLines({ triggers }: AnalyticsDays): Line[] {
  const hasSeveral = new Set(triggers.map(({ system }) => system.name)).size > 1;
  const lines = triggers.map(({ key, system, points }) => ({ label: hasSeveral ? `${system.name}: ${key}` : key, values: points }));
  return topLines(lines, 'Other triggers');
}

/** The numbers of the last day, and of the day before it. */
export interface Today {
  readonly date: string;
  readonly events: number;
  readonly eventsBefore: number;
  readonly activeUsers: number;
  readonly activeUsers30: number;
  readonly newUsers: number;
  readonly completions: number;
}

export function todayOf(analytics: AnalyticsDays): Today | undefined {
  const last = analytics.days.length - 1;
  const date = analytics.days[last];
  if (date === undefined) return undefined;
  return {
    date,
    events: analytics.events[last] ?? 0,
    eventsBefore: analytics.events[last - 1] ?? 0,
    activeUsers: analytics.activeUsers[last] ?? 0,
    activeUsers30: analytics.activeUsers30[last] ?? 0,
    newUsers: analytics.newUsers[last] ?? 0,
    completions: sum(analytics.achievements.map(({ completions }) => completions[last] ?? 0)),
  };
}

/** A label of a range of streak lengths: `3`, `4 to 6`, `365 or more`. */
export const lengthLabel = ({ from, to }: AnalyticsStreaks['lengths'][number]): string =>
  to === null ? `${from} or more` : from === to ? String(from) : `${from} to ${to}`;

/** The ranges of lengths up to the longest one that a user has. */
export function usedRanges(ranges: AnalyticsStreaks['lengths']): AnalyticsStreaks['lengths'] {
  return ranges.slice(0, ranges.findLastIndex(({ users }) => users > 0) + 1);
}

/** Quotes a text for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that sends a first event to the service. */
export function firstEventCommand({
  origin,
  metric,
  tenant,
}: {
  readonly origin: string;
  readonly metric: string;
  readonly tenant: string | undefined;
}): string {
  return [
    `curl -s ${quoted(`${origin}/v1/metrics/${encodeURIComponent(metric)}/event`)}`,
    `-H 'X-API-KEY: YOUR-API-KEY'`,
    `-H 'Content-Type: application/json'`,
    ...(tenant === undefined ? [] : [`-H ${quoted(`Tenant-ID: ${tenant}`)}`]),
    `-d '{"user":{"id":"ana","name":"Ana"},"value":5}'`,
  ].join(' \\\n  ');
}
