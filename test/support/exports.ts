import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type pg from 'pg';
import { adminKey, type World } from './world.js';

/** Begins an export, and reads nothing of its body. */
export async function beginExport(world: Pick<World, 'address'>, path: string): Promise<IncomingMessage> {
  const going = request(`${world.address}/admin/v1/exports/${path}`, { headers: { 'x-api-key': adminKey } });
  going.end();
  const [response] = (await once(going, 'response')) as [IncomingMessage];
  return response;
}

/** Reads the rest of a response. Throws if it ends before it is complete. */
export async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** The cells of a CSV file; undefined for an empty one, which stands for null. */
export function parseCsv(text: string): (string | undefined)[][] {
  const lines: (string | undefined)[][] = [[]];
  let read = 0;
  for (const [all, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy)) {
    lines.at(-1)?.push(quoted === undefined ? (plain === '' ? undefined : plain) : quoted.replaceAll('""', '"'));
    if (end === '\r\n') lines.push([]);
    read += all.length;
  }
  if (read !== text.length) throw new Error(`not CSV from character ${read}: ${text.slice(read, read + 100)}`);
  return lines.slice(0, -1);
}

/** The objects of an NDJSON file. */
export function parseNdjson<T>(text: string): T[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line is not complete');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}

/** Gives a tenant users with an id of seven digits and a name of `nameChars`. */
export async function insertUsers(pool: pg.Pool, count: number, { tenant = 1, nameChars = 10 } = {}): Promise<void> {
  await pool.query(
    `insert into users (tenant, id, rev, name, subscribe_to_emails, attributes, control, created, updated, moved)
     select $1, to_char(n, 'FM0000000'), 1, repeat('n', $3), true, '{}', false, moment, moment, moment
       from generate_series(1, $2) as n cross join (values (timestamptz '2040-01-01 00:00:00Z')) as now (moment)`,
    [tenant, count, nameChars],
  );
}

/** How many transactions of exports are open in a database. */
export async function openExports(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and xact_start is not null and query like any (array['fetch %', 'declare %', 'rollback%'])`,
  );
  return rows[0]?.count ?? 0;
}
