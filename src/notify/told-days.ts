import type pg from 'pg';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import type { WebhookKind } from './kinds.js';
import { addToOutbox, type OutboxMessage } from './outbox.js';
import { boardMessage, readStanding } from './told-boards.js';
import { turningPoints, type CalendarKind, type TurningPoint } from './turning-points.js';

/** The kinds of which something has to be noted for one of them to be told, and under which of them that it is noted is kept. */
const groups: readonly (readonly CalendarKind[])[] = [['leaderboard.started'], ['points.boost_started', 'points.boost_finished']];
/** Stands for the moment from which on a group of kinds is told. */
const sinceNo = 0;

interface Row {
  readonly kind: CalendarKind;
  readonly object: number;
  readonly day: number;
}

const nameOf = ({ kind, object }: Omit<Row, 'day'>): string => `${kind} ${object}`;

/** Those of the calendar's kinds that have to be noted when some kinds are subscribed to. */
export const notedKinds = (kinds: ReadonlySet<WebhookKind>): CalendarKind[] =>
  groups.filter((group) => group.some((kind) => kinds.has(kind))).flat();

/**
 * Tells what the calendar has begun and ended by a moment, once. When a kind is subscribed to for the first time, what had happened by then is
 * only noted. Returns how many deliveries there are.
 */
export async function tellCalendar(
  client: pg.ClientBase,
  config: ActiveConfig,
  kinds: ReadonlySet<WebhookKind>,
  now: number,
): Promise<number> {
  const { tenant } = config;
  const noted = notedKinds(kinds);
  const { rows } = await client.query<Row>('select kind, object, day from told_days where tenant = $1', [tenant]);
  const told = new Map(rows.map((row) => [nameOf(row), row.day]));
  const isNew = new Set(noted.filter((kind) => !told.has(nameOf({ kind, object: sinceNo }))));
  const points = turningPoints(config, (kind, object) => told.get(nameOf({ kind, object })), now).filter(({ kind }) =>
    noted.includes(kind),
  );
  const since = [...isNew].map((kind): Row => ({ kind, object: sinceNo, day: 0 }));
  await note(client, tenant, [...since, ...points]);
  const messages: OutboxMessage[] = [];
  for (const point of points) if (!isNew.has(point.kind)) messages.push(await messageOf(client, config, point));
  return addToOutbox(client, tenant, config, messages);
}

async function note(client: pg.ClientBase, tenant: number, rows: readonly Row[]): Promise<void> {
  // Of several days of one object, the last.
  const last = [...new Map(rows.map((row) => [nameOf(row), row])).values()];
  await client.query(
    `insert into told_days (tenant, kind, object, day)
     select $1, * from unnest($2::text[], $3::integer[], $4::integer[])
     on conflict (tenant, kind, object) do update set day = excluded.day`,
    [
      tenant,
      textArray(last.map(({ kind }) => kind)),
      numberArray(last.map(({ object }) => object)),
      numberArray(last.map(({ day }) => day)),
    ],
  );
}

async function messageOf(client: pg.ClientBase, config: ActiveConfig, point: TurningPoint): Promise<OutboxMessage> {
  const { kind, object, at, of } = point;
  if ('board' in of) {
    const key = { no: object, run: of.run, group: '' };
    const rankings = await readStanding(client, config.tenant, key, of.board.maxParticipants);
    return boardMessage(config, 'leaderboard.started', of.board, { ...key, rankings, at });
  }
  const { boost, system } = of;
  const { id, name, userId, start, end, multiplier, rounding } = boost;
  const status = kind === 'points.boost_started' ? 'active' : 'finished';
  const ofSystem = { pointsSystemId: system.id, pointsSystemKey: system.key, pointsSystemName: system.name };
  return {
    kind,
    subject: `boost:${object}`,
    ...(userId === null ? {} : { user: userId }),
    at: new Date(at),
    payload: {
      type: kind,
      timestamp: new Date(at).toISOString(),
      boost: { id, name, status, userId, ...ofSystem, start, end, multiplier, rounding },
    },
  };
}
