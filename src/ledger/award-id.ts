import { v5 } from 'uuid';

/**
 * The id of an award, made from the event that earned it and its place among the event's awards: the response, the list of recent awards
 * and Postgres name it alike without anybody having to store it.
 */
export function awardId(eventId: string, ordinal: number): string {
  return v5(String(ordinal), eventId);
}
