import type pg from 'pg';
import { defaultTenant } from '../access/tenants.js';
import type { Channel } from '../config/schema/message-types.js';
import { dueQueues, type QueueKey } from '../deliveries/queue.js';
import { channelOfQueue } from '../messages/rules/channels.js';
import { numberArray } from '../postgres/arrays.js';
import { counted } from '../shared/counted.js';
import { limits } from '../shared/limits.js';

/** What is wrong with a queue of deliveries. */
interface Trouble extends QueueKey {
  /** Since when no attempt has succeeded. */
  readonly failingSince: Date | null;
  readonly switchedOff: Date | null;
  /** Deliveries that failed for good in the last limits.statusFailedHours. */
  readonly failed: number;
  /** How long a delivery has been due; 0 when none is late. */
  readonly overdueMs: number;
}

// What failed lately is read from an index that holds nothing else. An endpoint that fails is always a problem. A channel also fails while its newest
// message went to a wrong address: it is a problem when messages wait, or when many of its newest ones have failed.
const failing = `
  with lately as (
    select tenant, endpoint as no, count(*)::integer as failures
      from (select tenant, endpoint from deliveries
             where status = 'failed' and finished > clock_timestamp() - $1 * interval '1 hour'
             order by finished desc limit $2) as newest
     group by tenant, endpoint
  ), unhealthy as (
    select tenant, no, failing_since, switched_off from delivery_queues
     where switched_off is not null or failing_since < clock_timestamp() - $3 * interval '1 millisecond'
  ), queues as (
    select tenant, no, failing_since, switched_off, coalesce(failures, 0) as failures from lately full join unhealthy using (tenant, no)
  )
  select tenant, no, failing_since as "failingSince", switched_off as "switchedOff", failures as failed, 0 as "overdueMs" from queues
   where no > 0
      or (failing_since is not null and exists (
            select 1 from deliveries as d where d.tenant = queues.tenant and d.endpoint = queues.no and d.status = 'pending'))
      or (failures > 0 and (
            select count(*) filter (where status = 'failed') * $4 > count(*)
              from (select status, finished from deliveries as d
                     where d.tenant = queues.tenant and d.endpoint = queues.no order by d.outbox desc limit $5) as newest
             where status in ('delivered', 'failed', 'bounced', 'complained') and finished > clock_timestamp() - $1 * interval '1 hour'))
   order by coalesce(failing_since, switched_off) desc nulls last, failures desc limit $6`;

async function troubledQueues(pool: pg.Pool): Promise<Trouble[]> {
  const { statusFailedHours, statusFailedDeliveries, statusFailingMs, statusMessagesShare, statusMessagesSample, statusQueues } = limits;
  const values = [statusFailedHours, statusFailedDeliveries, statusFailingMs, statusMessagesShare, statusMessagesSample, statusQueues];
  const [{ rows }, due] = await Promise.all([pool.query<Trouble>(failing, values), dueQueues(pool, 0)]);
  const troubled = new Map(rows.map((queue) => [keyOf(queue), queue]));
  for (const { overdueMs, ...queue } of due) {
    if (overdueMs <= (queue.no < 0 ? limits.statusMessageLateMs : limits.statusWebhookLateMs)) continue;
    const known = troubled.get(keyOf(queue)) ?? { ...queue, failingSince: null, switchedOff: null, failed: 0 };
    troubled.set(keyOf(queue), { ...known, overdueMs });
  }
  return [...troubled.values()].slice(0, limits.statusQueues);
}

const keyOf = ({ tenant, no }: QueueKey): string => `${tenant} ${no}`;

/** What operators know a queue by. */
interface QueueName extends QueueKey {
  /** `default` for the default tenant. */
  readonly tenantId: string;
  /** Null for a channel. */
  readonly url: string | null;
}

/** The names of queues, by the newest configurations. Inactive endpoints and those of archived tenants have none: nothing is sent to them. */
const names = `
  select wanted.tenant, wanted.no, case when wanted.tenant = $1 then 'default' else tenants.id::text end as "tenantId", hook ->> 'url' as url
    from unnest($2::integer[], $3::integer[]) as wanted (tenant, no)
    join tenants on tenants.no = wanted.tenant and tenants.status = 'active'
    left join lateral (
      select document from config_versions where tenant = wanted.tenant order by version desc limit 1) as newest on wanted.no > 0
    left join lateral jsonb_array_elements(newest.document -> 'webhooks') as found (hook)
      on (hook ->> 'no')::integer = wanted.no and hook ->> 'status' = 'active' and not (hook ->> 'archived')::boolean
   where wanted.no < 0 or hook is not null`;

async function namesOf(pool: pg.Pool, queues: readonly QueueKey[]): Promise<ReadonlyMap<string, QueueName>> {
  const tenants = numberArray(queues.map(({ tenant }) => tenant));
  const { rows } = await pool.query<QueueName>(names, [defaultTenant, tenants, numberArray(queues.map(({ no }) => no))]);
  return new Map(rows.map((name) => [keyOf(name), name]));
}

/** A sentence for each webhook endpoint and each channel of messages that fails or is late (docs/operations/status.md). */
export async function deliveryProblems(pool: pg.Pool): Promise<string[]> {
  const queues = await troubledQueues(pool);
  if (queues.length === 0) return [];
  const known = await namesOf(pool, queues);
  // More than are counted may have failed, of any of the queues.
  const isCounted = queues.reduce((sum, { failed }) => sum + failed, 0) < limits.statusFailedDeliveries;
  const sentences = queues.flatMap((queue) => {
    const name = known.get(keyOf(queue));
    return name ? [sentenceOf(queue, name, isCounted)] : [];
  });
  const rest = sentences.splice(limits.maxComplaints).length;
  return rest > 0 ? [...sentences, `Deliveries fail or are late in ${counted(rest, 'other queue')} too.`] : sentences;
}

function sentenceOf(
  { no, failingSince, switchedOff, failed, overdueMs }: Trouble,
  { tenantId, url }: QueueName,
  isCounted: boolean,
): string {
  const channel = channelOfQueue(no);
  const subject = channel ? channelNames[channel] : `Webhook endpoint ${url === null ? no : withoutQuery(url)}`;
  const of = tenantId === 'default' ? '' : ` of the tenant ${tenantId}`;
  const state = switchedOff
    ? ` has been switched off since ${minuteOf(switchedOff)}`
    : failingSince
      ? ` ${channel ? 'have' : 'has'} failed since ${minuteOf(failingSince)}`
      : '';
  const count = `${isCounted ? '' : 'at least '}${counted(failed, 'delivery', 'deliveries')}`;
  const failures = `${count} failed in the last ${limits.statusFailedHours} hours`;
  const late = `a delivery has been due for ${counted(Math.floor(overdueMs / 60_000), 'minute')}`;
  const details = [...(failed > 0 ? [failures] : []), ...(overdueMs > 0 ? [late] : [])].join(', and ');
  return `${subject}${of}${state}${details === '' ? '' : `${state === '' ? ':' : ';'} ${details}`}.`;
}

const channelNames: Readonly<Record<Channel, string>> = { email: 'Emails', push: 'Push notifications' };

/** A query may have a secret of the receiver. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** A moment for operators: `2026-11-27 10:05 UTC`. */
export const minuteOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
