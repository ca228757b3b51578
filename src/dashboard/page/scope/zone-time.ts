const dayMs = 86_400_000;

/** What the clocks of a zone show at a moment, as the moment at which those of UTC show it: both in milliseconds since 1970. */
function shownIn(timeZone: string, ms: number): number {
  // Swedish dates are ISO 8601.
  const shown = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(new Date(ms));
  return Date.parse(`${shown.replace(' ', 'T')}Z`);
}

/** The moment of a local date and time such as `2040-01-02T12:30`: the first one, where clocks are set back; the offset before it, where they skip it. */
export function momentIn(timeZone: string, local: string): string {
  const wanted = Date.parse(`${local}Z`);
  const momentAsOf = (ms: number): number => wanted - (shownIn(timeZone, ms) - ms);
  const before = momentAsOf(wanted - dayMs);
  const moment = [before, momentAsOf(wanted + dayMs)].find((ms) => shownIn(timeZone, ms) === wanted);
  return new Date(moment ?? before).toISOString();
}
