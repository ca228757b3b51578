const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 15 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 });
const dates = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });

export const formatNumber = (value: number): string => numbers.format(value);
/** `4.1K`, for axes and tiles. */
export const formatShort = (value: number): string => short.format(value);
/** Of a share from 0 to 1. */
export const formatShare = (share: number): string => percents.format(share);
/** A date written YYYY-MM-DD. */
export const formatDate = (date: string): string => dates.format(new Date(`${date}T00:00:00Z`));
/** `1 user`, `3 users`. */
export const formatCount = (count: number, one: string, many = `${one}s`): string => `${formatNumber(count)} ${count === 1 ? one : many}`;
