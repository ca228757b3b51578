import { dayMs } from '../shared/calendar.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { GameChange } from './game.js';
import type { Scene, Story, StoryEvent } from './story.js';

export interface FillOptions {
  /** `http://host:port` of the service. */
  readonly address: string;
  readonly key: string;
  readonly story: Story;
  /** Changes of the configuration during the month. */
  readonly changes: readonly GameChange[];
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

const progressDays = 5;

/** Sends one request to the service. Throws an OperatorError for a response that is not a success, and for a batch with an issue. */
async function send({ address, key, signal }: FillOptions, method: string, path: string, body: unknown): Promise<number> {
  const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
  // Between two requests: a listener for each would add up over thousands.
  signal.throwIfAborted();
  const response = await fetch(address + path, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  const { issues = [] } = (text === '' ? {} : JSON.parse(text)) as { issues?: readonly unknown[] };
  if (!response.ok || issues.length > 0)
    throw new OperatorError(`Filling the demo failed: ${method} ${path} responded with ${response.status}: ${text}`);
  return response.status;
}

/** Repeats the request until everything is done that is due by then. */
async function moveClock(options: FillOptions, toMs: number): Promise<void> {
  while ((await send(options, 'PUT', '/admin/v1/clock', { now: new Date(toMs).toISOString() })) !== 200);
}

/** An event as the study app sends it: the first one of a user with the profile. */
function requestOf({ metric, value, attributes, isFirst, person }: StoryEvent): object {
  const { id, name, zone, city, email, deviceToken } = person;
  const profile = {
    name,
    tz: zone,
    attributes: { city },
    ...(email === undefined ? {} : { email, subscribeToEmails: true }),
    ...(deviceToken === undefined ? {} : { deviceTokens: [deviceToken] }),
  };
  return { key: metric, user: { id, ...(isFirst ? profile : {}) }, value, attributes };
}

async function play(options: FillOptions, { atMs, events, profiles, freezes, pauses }: Scene): Promise<void> {
  await moveClock(options, atMs);
  for (let at = 0; at < events.length; at += limits.maxBatchEvents) {
    await send(options, 'POST', '/admin/v1/metrics/events', events.slice(at, at + limits.maxBatchEvents).map(requestOf));
  }
  for (const id of profiles) await send(options, 'POST', '/v1/achievements/profile-completed/complete', { user: { id } });
  if (freezes.length > 0) await send(options, 'POST', '/admin/v1/streaks/freezes', { freezes: freezes.map((userId) => ({ userId })) });
  if (pauses.length > 0) await send(options, 'POST', '/admin/v1/streaks/pauses', { pauses });
}

/**
 * Plays a month on the test clock of a service: moves the clock to each moment at which something happens, so that streaks, leaderboards and messages
 * follow as they would in a month, and sends what happens then.
 */
export async function fillDemo(options: FillOptions): Promise<void> {
  const { story, print } = options;
  const changes = [...options.changes];
  let [events, printedDays] = [0, 0];
  for (const scene of story.scenes) {
    const days = Math.floor((scene.atMs - story.startMs) / dayMs);
    while (changes[0] !== undefined && changes[0].afterDays <= days) {
      await send(options, 'POST', '/admin/v1/configuration/apply', { file: changes.shift()?.file });
    }
    await play(options, scene);
    events += scene.events.length;
    if (days < printedDays + progressDays) continue;
    printedDays = days;
    print(`  ${new Date(scene.atMs).toISOString().slice(0, 10)}: ${events.toLocaleString('en')} events`);
  }
  await moveClock(options, story.endMs);
}
