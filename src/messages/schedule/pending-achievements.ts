import type pg from 'pg';
import { limits } from '../../shared/limits.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import type { DueContents } from './recipients.js';
import { receivesEmail, readProfiles } from '../rules/profiles.js';

/** A completed achievement of a user, as the body of a webhook has it. */
export interface CompletedDraft {
  readonly user: string;
  /** When it was completed, in milliseconds since 1970. */
  readonly at: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Saves achievements that were completed outside of the hours for emails, within the transaction of `client`. */
export async function savePending(client: pg.ClientBase, tenant: number, drafts: readonly CompletedDraft[]): Promise<void> {
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

/** A page of achievements that wait for their emails. */
export interface PendingPage {
  /** All rows of the page, including those of users who receive no emails. */
  readonly ids: readonly string[];
  readonly contents: DueContents;
  readonly isLast: boolean;
}

interface Row {
  readonly id: string;
  readonly user_id: string;
  readonly achievement: unknown;
}

/** The oldest achievements that users of a zone (empty for none) completed before a time, at which they lived there. */
export async function readPending(client: pg.Pool, tenant: number, zone: string, before: number): Promise<PendingPage> {
  const { rows } = await client.query<Row>(
    `select pending.id, user_id, achievement from pending_achievement_emails as pending
       join users on users.tenant = pending.tenant and users.id = user_id
      where pending.tenant = $1 and coalesce(tz, '') = $2 and at < $3 and moved <= to_timestamp($3 / 1000.0)
      order by pending.id limit ${limits.emailPageUsers}`,
    [tenant, zone, before],
  );
  const users = rows.map((row) => row.user_id);
  const profiles = await readProfiles(client, tenant, users);
  const recipients = new Set(users.filter((user) => receivesEmail(profiles.get(user) ?? {}, 'achievement_completed')));
  const contents = [...recipients].map((user) => {
    const own = rows.filter((row) => row.user_id === user);
    // Messages to users about achievements are scheduled by themselves (scheduled.ts).
    return [user, own.map(({ achievement }) => ({ body: { achievement }, about: null }))] as const;
  });
  return { ids: rows.map(({ id }) => id), contents: new Map(contents), isLast: rows.length < limits.emailPageUsers };
}

/** Deletes achievements whose emails are published, within the transaction of `client`. */
export async function deletePending(client: pg.ClientBase, ids: readonly string[]): Promise<void> {
  await client.query('delete from pending_achievement_emails where id = any($1::bigint[])', [textArray(ids)]);
}

/** Deletes the pending achievements of a tenant without a subscriber to these emails. */
export async function deleteAllPending(pool: pg.Pool, tenant: number): Promise<void> {
  await pool.query('delete from pending_achievement_emails where tenant = $1', [tenant]);
}
