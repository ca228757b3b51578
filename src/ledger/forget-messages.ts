import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';

/** The payload without the elements of its lists that are about a user. */
function without(value: unknown, user: string): unknown {
  if (Array.isArray(value)) return value.filter((element) => !isAbout(element, user)).map((element) => without(element, user));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, without(part, user)]));
}

const isAbout = (element: unknown, user: string): boolean =>
  typeof element === 'object' && element !== null && 'userId' in element && element.userId === user;

/**
 * Takes a user out of the messages that name the user beside others, such as the rankings of a leaderboard, at most `max` of them: they are still
 * delivered, and still seen by operators; what receivers answered to them goes, since it may repeat them. Returns how many it changed. (What is about the user alone goes as a row of the user.)
 */
export async function forgetInMessages(client: pg.ClientBase, tenant: number, user: string, max: number): Promise<number> {
  const { rows } = await client.query<{ id: string; payload: unknown }>(
    'select id, payload from outbox where others @> array[$2]::text[] and tenant = $1 limit $3 for update',
    [tenant, user, max],
  );
  for (const { id, payload } of rows) {
    await client.query('update outbox set payload = $2, others = array_remove(others, $3) where id = $1', [
      ...[id, JSON.stringify(without(payload, user)), user],
    ]);
  }
  if (rows.length > 0)
    await forgetAnswers(
      client,
      rows.map(({ id }) => id),
    );
  return rows.length;
}

async function forgetAnswers(client: pg.ClientBase, messages: readonly string[]): Promise<void> {
  await client.query(
    `update webhook_deliveries set tries = (
       select jsonb_agg(try || '{"answer": null}' order by place) from jsonb_array_elements(tries) with ordinality as made (try, place))
      where outbox = any($1::bigint[]) and tries <> '[]'`,
    [textArray(messages)],
  );
}
