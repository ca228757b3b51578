/** The last four hex digits of an id count its awards. */
const ordinalDigits = 4;

/**
 * The id of an award, made from the event that earned it and its place among the event's awards: the response, the list of recent awards
 * and Postgres name it alike without anybody having to store it. It is the event's random UUID with the last 16 bits moved on by the
 * ordinal, marked as of the custom version 8 (RFC 9562), so that no award has the id of an event.
 */
export function awardId(eventId: string, ordinal: number): string {
  const last = (Number.parseInt(eventId.slice(-ordinalDigits), 16) + ordinal) % 16 ** ordinalDigits;
  return `${eventId.slice(0, 14)}8${eventId.slice(15, -ordinalDigits)}${last.toString(16).padStart(ordinalDigits, '0')}`;
}
