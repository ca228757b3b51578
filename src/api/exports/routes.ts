import { z } from 'zod';
import { isFinal as isRunFinal } from '../../engine/leaderboards.js';
import { leaderboardOf, runAsked } from '../../engine/leaderboard-runs.js';
import type { ListedAuditEntry } from '../../access/audit.js';
import type { ExportedAward, ExportedEvent, ExportedRanking } from '../../history/exports.js';
import type { ListedUser } from '../../history/user-directory.js';
import type { MessageDelivery } from '../../messages/admin/message-admin.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { groupAttributes, rankingShape } from '../../responses/leaderboards.js';
import { awardOf, eventEntryShape, eventOf, timelineAwardShape } from '../../responses/timeline.js';
import { type UserResponse, userResponse, userShape } from '../../responses/users.js';
import { attributeShape } from '../../shared/shapes.js';
import { limits } from '../../shared/limits.js';
import { entrySchema, showEntry } from '../admin/access.js';
import { runDate } from '../admin/leaderboards.js';
import { messageSchema, showMessage } from '../admin/messages.js';
import { uuid } from '../admin/requests.js';
import { instantText } from '../query.js';
import { type Audited, defineRoute, type Route, type Services } from '../route.js';
import { type Column, type Exported, exportResponse, type Format, formats, mediaTypes } from './stream.js';

const format = z.enum(formats).default('csv').meta({ description: '`csv`: RFC 4180, with a header. `ndjson`: one JSON object a line.' });

/** The parameters of an export of a span of time. `what` is the moment of a row that has to be in it. */
const spanQuery = (what: string) =>
  z.object({
    format,
    from: instantText(`Only what ${what} at this instant or later.`),
    until: instantText(`Only what ${what} before this instant.`),
  });

const spanOf = ({ from, until }: { readonly from?: number | undefined; readonly until?: number | undefined }) => ({
  fromMs: from,
  untilMs: until,
});

const description =
  'Streamed, from one snapshot of the database. A tenant can have one export at a time, and a process ' +
  `${limits.exportsAtOnce}: others are a 429. It ends after ${limits.exportMs / 60_000} minutes, or when the client reads nothing for ` +
  `${limits.connectionIdleMs / 1_000} s.`;

/** What the routes of exports have in common. `line` is a line of NDJSON. */
const exportOf = <T extends z.ZodType>(line: T) => ({
  method: 'get' as const,
  description,
  responses: { 200: line },
  produces: { [mediaTypes.csv]: z.string(), [mediaTypes.ndjson]: line },
});

const noted = (what: string, { format }: { readonly format: Format }): Audited => ({
  summary: `${what} exported as ${format === 'csv' ? 'CSV' : 'NDJSON'}`,
  users: [],
});

/** Waits until Postgres has everything that callers may know. */
async function committed({ clock, history }: Services, tenant: number): Promise<void> {
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
}

/** Columns of the fields with these names. */
const fields = <T extends object>(...names: (keyof T & string)[]): Column<T>[] =>
  names.map((name): Column<T> => [name, (shown) => shown[name]]);

type WithAttributes = { readonly attributes: Readonly<Record<string, string>> };
/** A column for each attribute. */
const attributeColumns = (keys: Iterable<string>): Column<WithAttributes>[] =>
  [...new Set(keys)].map((key): Column<WithAttributes> => [`attributes.${key}`, ({ attributes }) => attributes[key]]);

/** The keys of event attributes, those of archived ones included: events keep their values. */
const eventKeys = ({ document }: ActiveConfig): string[] =>
  document.attributes.filter(({ type }) => type === 'event').map(({ key }) => key);

const users: Exported<ListedUser, UserResponse> = {
  name: 'users',
  show: (config, { id, profile }) => userResponse(config, id, profile),
  columns: (config) => [
    ...fields<UserResponse>(
      'id',
      'email',
      'name',
      'tz',
      'signUpDate',
      'deviceTokens',
      'subscribeToEmails',
      'control',
      'created',
      'updated',
    ),
    ...attributeColumns(config.userAttributes.keys()),
  ],
};

const eventShape = eventEntryShape.omit({ type: true, awards: true }).extend({ userId: z.string() }).meta({ id: 'ExportedEvent' });
type Event = z.infer<typeof eventShape>;

const events: Exported<ExportedEvent, Event> = {
  name: 'events',
  show: (config, { userId, ...row }) => {
    const { type: _type, awards: _awards, ...event } = eventOf(config, { ...row, awards: [] });
    return { userId, ...event };
  },
  columns: (config) => [
    ...fields<Event>('id', 'userId', 'at', 'day'),
    ['metric.key', ({ metric }) => metric.key],
    ...fields<Event>('value', 'total', 'idempotencyKey', 'corrects'),
    ...attributeColumns(eventKeys(config)),
  ],
};

const awardShape = timelineAwardShape.extend({ userId: z.string() }).meta({ id: 'ExportedAward' });
type Award = z.infer<typeof awardShape>;

const awards: Exported<ExportedAward, Award> = {
  name: 'awards',
  show: (config, { userId, ...row }) => ({ userId, ...awardOf(config, row) }),
  columns: () => [
    ...fields<Award>('id', 'userId', 'at', 'day'),
    ['system.key', ({ system }) => system.key],
    ['trigger.key', ({ trigger }) => trigger?.key],
    ['trigger.type', ({ trigger }) => trigger?.type],
    ...fields<Award>('awarded', 'total'),
    ['level.key', ({ level }) => level?.key],
    ...fields<Award>('boosts', 'eventId'),
    ['adjustment.reason', ({ adjustment }) => adjustment?.reason],
    ['adjustment.key.id', ({ adjustment }) => adjustment?.key.id],
    ['adjustment.key.name', ({ adjustment }) => adjustment?.key.name],
  ],
};

type Message = z.infer<typeof messageSchema>;

const messages: Exported<MessageDelivery, Message> = {
  name: 'messages',
  show: (_config, row) => showMessage(row),
  columns: () => [
    ...fields<Message>('id', 'type', 'channel', 'status', 'userId', 'due', 'created', 'finished', 'attempts', 'nextAttempt', 'clicks'),
    ...fields<Message>('about', 'tries'),
  ],
};

type Entry = z.infer<typeof entrySchema>;

const auditLog: Exported<ListedAuditEntry, Entry> = {
  name: 'audit-log',
  show: (_config, row) => showEntry(row),
  columns: () => [
    ...fields<Entry>('id', 'at', 'tenantId'),
    ['key.id', ({ key }) => key?.id],
    ['key.name', ({ key }) => key?.name],
    ['key.prefix', ({ key }) => key?.prefix],
    ...fields<Entry>('via', 'operation', 'summary', 'users', 'ignoredFields', 'configurationVersion'),
  ],
};

const rankedShape = rankingShape
  .omit({ rankInList: true })
  .extend({ attributes: z.array(attributeShape).meta({ description: 'The group. Empty for a leaderboard without breakdown.' }) })
  .meta({ id: 'ExportedRanking' });

type Ranked = z.infer<typeof rankedShape>;

/** Exports of everything that there is of a kind (docs/exports.md). */
export const exportRoutes: readonly Route[] = [
  defineRoute({
    ...exportOf(userShape),
    path: '/exports/users',
    operation: 'admin_exports_users',
    summary: 'Export users, by id',
    query: spanQuery('was created'),
    audit: ({ query }) => noted('Users', query),
    handle: async (request) => {
      const { services, tenant, query } = request;
      await committed(services, tenant);
      return exportResponse(request, services.exports.history.users(tenant, spanOf(query)), users);
    },
  }),
  defineRoute({
    ...exportOf(eventShape),
    path: '/exports/events',
    operation: 'admin_exports_events',
    summary: 'Export events, by user, metric and time',
    query: spanQuery('happened'),
    audit: ({ query }) => noted('Events', query),
    handle: async (request) => {
      const { services, tenant, query } = request;
      await committed(services, tenant);
      return exportResponse(request, services.exports.history.events(tenant, spanOf(query)), events);
    },
  }),
  defineRoute({
    ...exportOf(awardShape),
    path: '/exports/awards',
    operation: 'admin_exports_awards',
    summary: 'Export awards, by user, points system and time',
    query: spanQuery('was awarded'),
    audit: ({ query }) => noted('Awards', query),
    handle: async (request) => {
      const { services, tenant, query } = request;
      await committed(services, tenant);
      const { triggerByNo } = await services.engine.config(tenant);
      const timeTriggers = [...triggerByNo.values()].flatMap(({ no, type }) => (type === 'time' ? [no] : []));
      return exportResponse(request, services.exports.history.awards(tenant, spanOf(query), timeTriggers), awards);
    },
  }),
  defineRoute({
    ...exportOf(rankedShape),
    path: '/exports/leaderboards/{id}',
    operation: 'admin_exports_leaderboard',
    summary: 'Export the rankings of a run of a leaderboard, by group and rank',
    params: z.object({ id: uuid }),
    query: z.object({ format, run: runDate }),
    audit: ({ params: { id }, query }) => noted(`Rankings of ${id}`, query),
    handle: async (request) => {
      const { services, tenant, params, query } = request;
      const board = leaderboardOf(await services.engine.config(tenant), params.id);
      const now = await services.clock.now(tenant);
      const run = runAsked(board, query.run, now);
      await committed(services, tenant);
      const ranked = { leaderboard: board.no, run, maxParticipants: board.maxParticipants };
      const isFinal = await isRunFinal(services, tenant, { board, run, now });
      const opening = services.exports.history.rankings(tenant, { ...ranked, isFinal });
      return exportResponse<ExportedRanking, Ranked>(request, opening, {
        name: board.key,
        show: (config, { group, ...row }) => ({ ...row, attributes: groupAttributes(config, board, group) }),
        columns: ({ attributeById }) => [
          ...fields<Ranked>('userId', 'userName', 'rank', 'value'),
          ...board.breakdownAttributes.map((id, i): Column<Ranked> => [
            `attributes.${attributeById.get(id)?.key ?? ''}`,
            ({ attributes }) => attributes[i]?.value,
          ]),
        ],
      });
    },
  }),
  defineRoute({
    ...exportOf(messageSchema),
    path: '/exports/messages',
    operation: 'admin_exports_messages',
    summary: 'Export messages to users, the oldest first',
    query: spanQuery('was queued'),
    audit: ({ query }) => noted('Messages', query),
    handle: (request) => {
      const { services, tenant, query } = request;
      return exportResponse(request, services.exports.messages.messages(tenant, spanOf(query)), messages);
    },
  }),
  defineRoute({
    ...exportOf(entrySchema),
    path: '/exports/audit-log',
    operation: 'admin_exports_audit_log',
    summary: 'Export who changed what, the oldest first',
    description: `A key bound to a tenant gets the entries of its tenant, any other key all of them. ${description}`,
    query: spanQuery('was changed'),
    audit: ({ query }) => noted('Audit log', query),
    handle: (request) => {
      const { services, principal, tenant, query } = request;
      return exportResponse(request, services.exports.audit.entries(tenant, principal.tenant, spanOf(query)), auditLog);
    },
  }),
];
