/** The ranges of days that charts show. */
export const dayRanges = [7, 30, 90, 365] as const;
export const defaultDays = 30;

/** The number of days that an address names. */
export function daysOf(text: string | undefined): number {
  const days = Number(text);
  return dayRanges.find((range) => range === days) ?? defaultDays;
}

/** The first of so many days that end with a date. */
export function firstDay(last: string, days: number): string {
  const first = new Date(`${last}T00:00:00Z`);
  first.setUTCDate(first.getUTCDate() - days + 1);
  return first.toISOString().slice(0, 10);
}
