import type pg from 'pg';
import type { AwardFact, LedgerEntry } from '../ledger/entry.js';
import { limits } from '../shared/limits.js';
import { mustGet, type ActiveConfig } from '../plan/active-config.js';
import { awardResponse, levelAt, levelResponse, systemResponse } from '../responses/points.js';
import type { EventPointsResponse } from '../responses/points.js';
import { insertRows, type Table } from '../postgres/insert.js';
import { earnedIn, isOfUser, eventOf } from './drafts.js';
import { publishEvents, type WebhookEvent } from '../deliveries/outbox.js';
import { readUsers } from '../messages/rules/profiles.js';

/** The first change of a user's points since they were last published, with the state before it. */
interface Change {
  readonly user: string;
  readonly system: number;
  readonly at: number;
  readonly total: number;
  readonly rev: number;
  /** The time of its earliest award. */
  readonly since: number;
}

/** A pending change is not replaced: the last published state is the one before the first of several changes. */
const changes: Table<Change> = {
  name: 'webhook_points_state',
  columns: [
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'system', type: 'integer', value: ({ system }) => system },
    { name: 'at', type: 'bigint', value: ({ at }) => at },
    { name: 'changed', type: 'boolean', value: () => true },
    { name: 'total', type: 'bigint', value: ({ total }) => total },
    { name: 'rev', type: 'bigint', value: ({ rev }) => rev },
    { name: 'since', type: 'bigint', value: ({ since }) => since },
  ],
  conflict: { key: ['user_id', 'system'], replace: ['changed', 'total', 'rev', 'since'], replaceWhen: 'not webhook_points_state.changed' },
};

/** Records users whose points changed: due at once, or 15 minutes after they were last published. */
export async function recordPointsChanges(client: pg.ClientBase, tenant: number, entries: readonly LedgerEntry[]): Promise<void> {
  const rows = new Map<string, Change>();
  for (const entry of entries) {
    if (!isOfUser(entry)) continue;
    const { user, at, rev } = entry;
    for (const { no: system, before: total, awards } of earnedIn(entry)) {
      const key = `${system}:${user}`;
      const since = Math.min(at, ...awards.map((award) => award.at));
      if (!rows.has(key)) rows.set(key, { user, system, at, total, rev: rev - 1, since });
    }
  }
  await insertRows(client, tenant, changes, [...rows.values()]);
}

interface Due {
  readonly user_id: string;
  readonly system: number;
  readonly before: string;
  readonly total: string;
}

interface AwardRow {
  readonly user_id: string;
  readonly system: number;
  readonly event_id: string;
  readonly fact: AwardFact;
}

const dueQuery = `
  select due.user_id, due.system, due.total as before, points.total
    from webhook_points_state as due join user_points as points using (tenant, user_id, system)
   where due.tenant = $1 and due.changed and due.at <= $2
   order by due.at, due.user_id, due.system limit ${limits.publishPointsUsers}`;

/**
 * The unpublished awards in their order, at most as many as the user-points call returns. Later awards can be dated before the first, by less than the
 * two days of the largest move between zones; the index finds them by time.
 */
const awardsQuery = `
  select due.user_id, due.system, award.event_id, json_build_object(
           'trigger', award.trigger, 'ordinal', award.ordinal, 'awarded', award.awarded, 'total', award.total, 'boosts', award.boosts,
           'at', (extract(epoch from award.at) * 1000)::bigint, 'day', award.day - date '1970-01-01') as fact
    from webhook_points_state as due, lateral (
      select * from awards where tenant = $1 and user_id = due.user_id and system = due.system and rev > due.rev
          and at >= to_timestamp(due.since / 1000.0) - interval '2 days'
       order by rev desc, ordinal desc limit ${limits.maxAwardsRead}) as award
   where due.tenant = $1 and due.changed and (due.user_id, due.system) in (select * from unnest($2::text[], $3::integer[]))
   order by award.rev, award.ordinal`;

/** The contract's `MetricEventPointsResponse`, of all changes since the last event. */
function pointsChanged(config: ActiveConfig, { system: no, before, total }: Due, awards: readonly AwardRow[]): EventPointsResponse {
  const system = mustGet(config.systemByNo, no, 'points system');
  const [levelBefore, level] = [levelAt(system, Number(before)), levelAt(system, Number(total))];
  return {
    ...systemResponse(system),
    total: Number(total),
    ...(levelBefore?.no === level?.no ? {} : { level: level && levelResponse(level) }),
    added: Number(total) - Number(before),
    awards: awards.map(({ event_id, fact }) => awardResponse(config, event_id, fact)),
  };
}

/**
 * Publishes due points in the transaction of `client`, and deletes the state of users without a change for long enough. Returns the number of
 * deliveries.
 */
export async function publishPoints(client: pg.ClientBase, config: ActiveConfig, now: number): Promise<number> {
  const { tenant } = config;
  const { rows: due } = await client.query<Due>(dueQuery, [tenant, now]);
  const named = [due.map(({ user_id }) => user_id), due.map(({ system }) => system)] as const;
  let sent = 0;
  if (due.length > 0) {
    const { rows: awards } = await client.query<AwardRow>(awardsQuery, [tenant, ...named]);
    const users = await readUsers(client, config, named[0]);
    const events = due.flatMap((row): WebhookEvent[] => {
      const user = users.get(row.user_id);
      const own = awards.filter(({ user_id, system }) => user_id === row.user_id && system === row.system);
      const draft = { kind: 'points.changed', user: row.user_id, at: now, body: { points: pointsChanged(config, row, own) } } as const;
      return user ? [eventOf(draft, user)] : [];
    });
    sent = await publishEvents(client, config, events);
    await client.query(
      `update webhook_points_state set changed = false, at = $2
        where tenant = $1 and (user_id, system) in (select * from unnest($3::text[], $4::integer[]))`,
      [tenant, now + limits.publishIntervalMs, ...named],
    );
  }
  await client.query('delete from webhook_points_state where tenant = $1 and at <= $2 and not changed', [tenant, now]);
  return sent;
}
