/** `every 7 days`; `never` for a perpetual leaderboard. */
export function repeats(unit: string | null | undefined, interval = 0): string {
  if (!unit || interval === 0) return 'never';
  return interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`;
}
