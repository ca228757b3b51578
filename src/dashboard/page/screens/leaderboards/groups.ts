/** Runs and groups of leaderboards in addresses and in words. */
import type { components } from '../../api/schema/admin.js';
import { formatDate } from '../../ui/numbers.js';
import { given } from '../../api/given.js';
import type { components as applicationComponents } from '../../api/schema/application.js';

export type Board = applicationComponents['schemas']['Leaderboard'];

/** A run of a leaderboard, and a group of one with breakdown. */
export interface Part {
  readonly board: Board;
  /** A date of the run; the current run without it. */
  readonly run: string | undefined;
  /** As `userAttributes` has it. */
  readonly group: string | undefined;
}

/** The parameters that name a part in a read of its rankings. */
export const partQuery = ({ run, group }: Part) => given({ run, userAttributes: group });

/** `every 7 days`; `never` for a perpetual leaderboard. */
export function repeats(unit: string | null | undefined, interval = 0): string {
  if (!unit || interval === 0) return 'never';
  return interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`;
}

/** An attribute of a group with its value. */
type GroupAttribute = components['schemas']['AttributeValue'];
type Run = Pick<components['schemas']['LeaderboardRun'], 'start' | 'end'>;

/** A group as the API takes it in `userAttributes`: `city:London,plan:pro`. */
export const groupText = (attributes: readonly GroupAttribute[]): string =>
  attributes.map(({ key, value }) => `${key}:${value.replace(/[\\,]/g, '\\$&')}`).join(',');

/** `London · pro`; an empty value is shown as such. */
export const groupName = (attributes: readonly GroupAttribute[]): string =>
  attributes.map(({ value }) => (value === '' ? '(empty)' : value)).join(' · ');

export function runName({ start, end }: Run): string {
  if (end === null) return `from ${formatDate(start)}`;
  return end === start ? formatDate(start) : `${formatDate(start)} to ${formatDate(end)}`;
}

/** The run that a date is in, of runs in any order. */
export const runOfDate = <R extends Run>(runs: readonly R[], date: string): R | undefined =>
  runs.find(({ start, end }) => start <= date && (end === null || date <= end));
