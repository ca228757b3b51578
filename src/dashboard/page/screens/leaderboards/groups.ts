/** Runs and groups of leaderboards in addresses and in words. */
import type { components } from '../../api/schema/admin.js';
import { formatDate } from '../../ui/numbers.js';

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
