/**
 * Imports users from the hosted service, one id a line on standard input (docs/moving-from-trophy.md). Safe to run again: each step either
 * replaces what is there, has an idempotency key, or first reads what Laurel has.
 *
 *   node examples/import-from-trophy.mjs users [POINTS=METRIC ...] < user-ids.txt     while import.yaml is active
 *   node examples/import-from-trophy.mjs streaks < user-ids.txt                       once laurel.yaml is active
 *
 * POINTS=METRIC names a points system and the temporary metric that pays its points, such as xp=imported-xp. Environment: TROPHY_API_KEY and
 * LAUREL_API_KEY (an admin key); TROPHY_URL, by default https://api.trophy.so/v1; LAUREL_URL, by default http://127.0.0.1:7070.
 */
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

const {
  TROPHY_API_KEY = '',
  LAUREL_API_KEY = '',
  TROPHY_URL = 'https://api.trophy.so/v1',
  LAUREL_URL = 'http://127.0.0.1:7070',
} = process.env;
const maxAttempts = 10;
const retriedStatuses = [429, 502, 503, 504];

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The time that a `Retry-After` header asks for, which has seconds or a date, in ms; undefined without one. */
function waitMs(header) {
  const ms = header === null ? NaN : Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : 1_000 * Number(header);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Sends a request and returns the parsed body. Repeats a request that the service asks to repeat later. Throws Refused for any other failure. */
async function send(key, method, url, body) {
  const init = { method, headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' } };
  if (body !== undefined) init.body = JSON.stringify(body);
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, init);
    const text = await response.text();
    if (response.ok) return text === '' ? undefined : JSON.parse(text);
    if (!retriedStatuses.includes(response.status) || attempt === maxAttempts) {
      throw new Refused(response.status, `${method} ${url}: ${response.status} ${text.slice(0, 500)}`);
    }
    await setTimeout(waitMs(response.headers.get('Retry-After')) ?? 1_000 * attempt);
  }
}

const read = (path) => send(TROPHY_API_KEY, 'GET', `${TROPHY_URL}${path}`);
const laurel = (method, path, body) => send(LAUREL_API_KEY, method, `${LAUREL_URL}${path}`, body);

/** The same, for operations that respond with issues. */
async function admin(path, body) {
  const { issues } = await laurel('POST', `/admin/v1${path}`, body);
  if (issues.length > 0) throw new Error(`POST ${path}: ${JSON.stringify(issues)}`);
}

/** The totals of a user, as events of the metrics and of the temporary metrics that pay the points. */
async function totalsOf(path, pointsMetrics) {
  const metrics = await read(`${path}/metrics`);
  const totals = metrics.map(({ key, current }) => ({ key, value: current }));
  for (const [system, key] of pointsMetrics) totals.push({ key, value: (await read(`${path}/points/${system}`)).total });
  return totals.filter(({ value }) => value !== 0);
}

async function importUser(id, pointsMetrics) {
  const path = `/users/${encodeURIComponent(id)}`;
  const { name, email, tz, signUpDate, deviceTokens, attributes, subscribeToEmails } = await read(path);
  // An address that arrives together with `subscribeToEmails: false` is not stored, and `true` needs an address: so the subscription follows.
  await laurel('PUT', `/v1${path}`, { name, email, tz, signUpDate, deviceTokens, attributes: attributes ?? {} });
  if (!subscribeToEmails) await laurel('PATCH', `/v1${path}`, { subscribeToEmails });

  const { notifications } = await read(`${path}/preferences`);
  await laurel('PATCH', `/v1${path}/preferences`, { notifications });

  const totals = await totalsOf(path, pointsMetrics);
  if (totals.length > 0) {
    await admin(
      '/metrics/events',
      totals.map((total) => ({ ...total, user: { id }, idempotencyKey: 'import' })),
    );
  }

  const completed = new Set((await laurel('GET', `/v1${path}/achievements`)).map(({ key }) => key));
  const theirs = (await read(`${path}/achievements`)).filter(({ trigger, achievedAt }) => trigger === 'api' && achievedAt !== null);
  for (const { key } of theirs) {
    if (!completed.has(key)) await laurel('POST', `/v1/achievements/${encodeURIComponent(key)}/complete`, { user: { id } });
  }
}

async function importStreak(id) {
  const path = `/users/${encodeURIComponent(id)}`;
  const { freezes: wanted = 0 } = await read(`${path}/streak`);
  const { freezes: held = 0 } = await laurel('GET', `/v1${path}/streak`);
  const items = Array(Math.abs(wanted - held)).fill({ userId: id });
  if (items.length > 0) await admin(wanted > held ? '/streaks/freezes' : '/streaks/freezes/take', { freezes: items });

  const { streak } = await read(`${path}/preferences`);
  if (streak) await laurel('PATCH', `/v1${path}/preferences`, { streak });
}

const [step, ...pairs] = process.argv.slice(2);
const steps = { users: (id) => importUser(id, pointsMetrics), streaks: importStreak };
const pointsMetrics = pairs.map((pair) => pair.split('='));
if (!(step in steps) || pointsMetrics.some((pair) => pair.length !== 2)) {
  console.error('Usage: import-from-trophy.mjs users [POINTS=METRIC ...] | streaks, with user ids on standard input');
  process.exit(2);
}

let imported = 0;
const failed = [];
for await (const line of createInterface({ input: process.stdin })) {
  const id = line.trimEnd();
  if (id === '') continue;
  try {
    await steps[step](id);
    imported += 1;
  } catch (error) {
    failed.push(id);
    console.error(`${id}: ${error.message}`);
  }
}
console.log(`${imported} users imported, ${failed.length} failed.`);
process.exitCode = failed.length > 0 ? 1 : 0;
