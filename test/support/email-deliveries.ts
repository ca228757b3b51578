import type { Links } from '../../src/messages/addresses/links.js';
import { readProfile } from './answers.js';
import type { World } from './world.js';

/** What was sent of an email delivery, and what has been heard of it since. */
export interface EmailDelivery {
  readonly status: string;
  readonly clicks: number;
  /** Of each try. */
  readonly errors: readonly (string | null)[];
}

/** Adds an email to a user as one that was delivered. Returns the id of the delivery. */
export async function addEmailDelivery({ pool, tenant }: World, user: string, status = 'delivered'): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `with message as (
       insert into outbox (tenant, kind, subject, user_id, at, payload) values ($1, 'message.recap', 'user:' || $2::text, $2, now(), '{}') returning id)
     insert into deliveries (outbox, endpoint, tenant, kind, subject, user_id, status)
     select id, -1, $1, 'message.recap', 'user:' || $2::text, $2, $3 from message returning id`,
    [tenant, user, status],
  );
  return rows[0]!.id;
}

export async function readEmailDelivery({ pool }: World, id: string): Promise<EmailDelivery> {
  const { rows } = await pool.query<EmailDelivery>(
    `select status, clicks, coalesce((select json_agg(try ->> 'error') from jsonb_array_elements(tries) as try), '[]') as errors
       from deliveries where id = $1`,
    [id],
  );
  return rows[0]!;
}

/** The unsubscribe link of an email to a user, as the user is now. */
export async function unsubscribeLink(
  world: World,
  links: Links,
  { user, delivery }: { readonly user: string; readonly delivery: string },
): Promise<string> {
  const { created } = await readProfile(world, user);
  const url = await links.unsubscribeUrl({ tenant: world.tenant, user, created: Date.parse(created), delivery });
  if (url === null) throw new Error('there are no links without PUBLIC_URL');
  return url;
}
