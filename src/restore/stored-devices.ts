import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { readAllUsers } from '../postgres/pool.js';
import { deviceOf, tokenPrefix } from '../shared/device-tokens.js';
import { limits } from '../shared/limits.js';

/** A device and the user who owns it. */
export interface OwnedDevice {
  readonly device: string;
  readonly user: string;
}

interface TenantDevices {
  readonly pool: pg.Pool;
  readonly tenant: number;
}

interface Row extends pg.QueryResultRow {
  readonly id: string;
  readonly tokens: readonly string[];
}

const devicesIn = (rows: readonly Row[]): OwnedDevice[] =>
  rows.flatMap(({ id: user, tokens }) => [...new Set(tokens.map(deviceOf))].map((device) => ({ device, user })));

/** The devices of the next users with tokens whose ids follow `after` in byte order; none at the end. */
export async function readDevices({ pool, tenant }: TenantDevices, after: string): Promise<OwnedDevice[]> {
  return devicesIn(
    await readAllUsers<Row>(
      pool,
      `select id, device_tokens as tokens from users where tenant = $1 and id collate "C" > $2 and device_tokens <> '[]'
        order by id collate "C" limit $3`,
      [tenant, after, limits.restoreUsers],
    ),
  );
}

/** The devices of users. */
export async function readDevicesOf({ pool, tenant }: TenantDevices, users: readonly string[]): Promise<OwnedDevice[]> {
  const { rows } = await pool.query<Row>(
    `select id, device_tokens as tokens from users where tenant = $1 and id = any($2::text[]) and device_tokens <> '[]'`,
    [tenant, textArray(users)],
  );
  return devicesIn(rows);
}

/**
 * The devices that several users list, each with the user who changed last, who owns it. There are some only while Postgres lacks an entry of a
 * handover, which is a dead letter.
 */
export function readSharedDevices({ pool, tenant }: TenantDevices): Promise<(OwnedDevice & pg.QueryResultRow)[]> {
  return readAllUsers(
    pool,
    `select regexp_replace(token, $2, '') as device, (array_agg(id order by updated desc, id collate "C" desc))[1] as "user"
       from users, jsonb_array_elements_text(device_tokens) as token
      where tenant = $1 and device_tokens <> '[]' group by 1 having count(distinct id) > 1`,
    [tenant, tokenPrefix],
  );
}
