import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import type { Draft } from './drafts.js';
import type { Bodies } from './email-users.js';
import { isWrittenTo, readProfiles } from './profiles.js';

/** Keeps achievements that were completed outside of the hours of their e-mails, within the transaction of `client`. */
export async function keepPending(client: pg.ClientBase, tenant: number, drafts: readonly Draft[]): Promise<void> {
  if (drafts.length === 0) return;
  await client.query(
    `insert into pending_achievement_emails (tenant, user_id, at, achievement)
     select $1, user_id, at, achievement::json from unnest($2::text[], $3::bigint[], $4::text[]) as pending (user_id, at, achievement)`,
    [
      tenant,
      textArray(drafts.map(({ user }) => user)),
      numberArray(drafts.map(({ at }) => at)),
      textArray(drafts.map(({ body }) => JSON.stringify(body['achievement']))),
    ],
  );
}

/** Some of the achievements that wait for a round. */
export interface PendingPage {
  /** All rows of the page, also those of users who are not written to. */
  readonly ids: readonly string[];
  readonly bodies: Bodies;
  readonly isLast: boolean;
}

interface Row {
  readonly id: string;
  readonly user_id: string;
  readonly achievement: unknown;
}

/** The oldest achievements that users of a zone, the empty one for none, completed before a round. */
export async function readPending(client: pg.Pool, tenant: number, zone: string, roundAt: number): Promise<PendingPage> {
  const { rows } = await client.query<Row>(
    `select pending.id, user_id, achievement from pending_achievement_emails as pending
       join users on users.tenant = pending.tenant and users.id = user_id
      where pending.tenant = $1 and coalesce(tz, '') = $2 and at < $3 order by pending.id limit ${limits.emailPageUsers}`,
    [tenant, zone, roundAt],
  );
  const users = rows.map((row) => row.user_id);
  const profiles = await readProfiles(client, tenant, users);
  const writtenTo = new Set(users.filter((user) => isWrittenTo(profiles.get(user) ?? {}, 'achievement_completed')));
  const bodies = [...writtenTo].map((user) => {
    const own = rows.filter((row) => row.user_id === user);
    return [user, own.map(({ achievement }) => ({ achievement }))] as const;
  });
  return { ids: rows.map(({ id }) => id), bodies: new Map(bodies), isLast: rows.length < limits.emailPageUsers };
}

/** Removes achievements whose e-mails are told, within the transaction of `client`. */
export async function dropPending(client: pg.ClientBase, ids: readonly string[]): Promise<void> {
  await client.query('delete from pending_achievement_emails where id = any($1::bigint[])', [textArray(ids)]);
}

/** Forgets what waits in a tenant that has no subscriber to these e-mails any more. */
export async function forgetPending(pool: pg.Pool, tenant: number): Promise<void> {
  await pool.query('delete from pending_achievement_emails where tenant = $1', [tenant]);
}
