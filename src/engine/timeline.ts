import type { HistoryReader } from '../history/reader.js';
import type { TimelinePage, TimelinePlace, TimelineReader, TimelineRow } from '../history/timeline.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { timelineResponse, type TimelineResponse } from '../responses/timeline.js';
import { weekShiftOf } from '../shared/calendar.js';
import type { Engine } from './engine.js';
import { readUser } from './users.js';

/** What reads of timelines need. */
export interface TimelineStores {
  readonly engine: Engine;
  readonly history: HistoryReader;
  readonly timeline: TimelineReader;
}

export interface TimelinePageQuery {
  readonly limit: number;
  readonly after: TimelinePlace | undefined;
  /** In milliseconds since 1970: from the one up to, but not at, the other. */
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
}

/** What happened to a user, newest first: one page. Throws a 404 for an unknown user, a 503 while Postgres lacks the latest entries. */
export async function readTimeline(
  { engine, history, timeline }: TimelineStores,
  tenant: number,
  user: string,
  query: TimelinePageQuery,
): Promise<TimelineResponse> {
  const { config, ledgerId } = await readUser(engine, tenant, user);
  await history.waitFor(tenant, ledgerId);
  const { streaks, settings } = config.document;
  const page = await timeline.read({
    tenant,
    user,
    ...query,
    frequency: streaks.enabled ? streaks.frequency : undefined,
    weekShift: weekShiftOf(settings),
    timeTriggers: [...config.triggerByNo.values()].flatMap(({ no, type }) => (type === 'time' ? [no] : [])),
  });
  return timelineResponse(isKnown(config, page) ? config : await engine.refreshConfig(tenant), page);
}

/** The numbers of the objects that a row names. */
function numbersOf(row: TimelineRow): readonly number[] {
  switch (row.type) {
    case 'event':
      return [row.metric, ...Object.keys(row.attributes ?? {}).map(Number), ...row.awards.flatMap(numbersOf)];
    case 'award':
      return [row.system, row.trigger, ...row.boosts];
    case 'achievement':
      return [row.achievement];
    case 'streak':
      return [];
  }
}

/** Whether a configuration has all objects of a page: another process may have counted an event under a newer one. */
const isKnown = ({ document }: ActiveConfig, { rows }: TimelinePage): boolean =>
  rows.every((row) => numbersOf(row).every((no) => no < document.nextNo));
