/**
 * The server of the example: serves its page, and calls Laurel with a key that the page never sees. A page gets live tokens from here.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const { LAUREL_URL = 'http://127.0.0.1:7070', LAUREL_API_KEY = '', PORT = '7080' } = process.env;
const { METRIC = 'flashcards-viewed', POINTS = 'points', LEADERBOARD = 'weekly' } = process.env;
const eventValue = 5;
const maxBodyBytes = 10_000;

if (LAUREL_API_KEY === '') {
  console.error('Set LAUREL_API_KEY to a key of Laurel that may read and send events.');
  process.exit(1);
}

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const { outputFiles } = await build({
  entryPoints: [file('page.jsx')],
  ...{ bundle: true, minify: true, write: false, jsx: 'automatic', format: 'esm', target: 'es2022' },
  define: { 'process.env.NODE_ENV': '"production"' },
});
const files = new Map([
  ['/', ['text/html; charset=utf-8', await readFile(file('index.html'))]],
  ['/page.css', ['text/css; charset=utf-8', await readFile(file('page.css'))]],
  ['/page.js', ['text/javascript; charset=utf-8', outputFiles[0].contents]],
]);

/** Who is signed in, by the value of the cookie. (Anybody can be anybody here: a real app asks for more than a name.) */
const sessions = new Map();

/** Calls Laurel. Returns undefined for a 404. */
async function laurel(method, path, body) {
  const headers = { 'X-API-KEY': LAUREL_API_KEY, 'Content-Type': 'application/json' };
  const response = await fetch(`${LAUREL_URL}/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`Laurel responded to ${method} ${path} with ${response.status}: ${await response.text()}`);
  return response.json();
}

if (!(await laurel('GET', `/leaderboards/${LEADERBOARD}?limit=1`))) {
  console.error(`Laurel has no active leaderboard ${LEADERBOARD}: set LEADERBOARD to the key of one.`);
  process.exit(1);
}

/** What the page shows of a user who is signed in. */
async function readMe({ id, name }) {
  const user = encodeURIComponent(id);
  const [points, levels, streak] = await Promise.all([
    laurel('GET', `/users/${user}/points/${POINTS}`),
    laurel('GET', `/points/${POINTS}/levels`),
    laurel('GET', `/users/${user}/streak`),
  ]);
  return {
    id,
    name,
    pointsKey: POINTS,
    total: points?.total ?? 0,
    level: points?.level ?? null,
    levels: levels ?? [],
    streak: streak?.length ?? 0,
  };
}

/** What the page calls. A function gets the user who is signed in, and the body. */
const api = {
  'GET /api/me': (user) => readMe(user),
  'POST /api/event': (user) => laurel('POST', `/metrics/${METRIC}/event`, { user, value: eventValue }),
  'POST /api/token': (user) => laurel('POST', '/live-tokens', { leaderboards: [LEADERBOARD], userId: user.id }),
};

async function signIn(request, response) {
  const { name } = JSON.parse(await bodyOf(request));
  if (typeof name !== 'string' || name.trim() === '') return send(response, 422, { error: 'Send a name.' });
  const id = name
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-');
  const user = { id: `live-${id}`, name: name.trim() };
  await laurel('PUT', `/users/${encodeURIComponent(user.id)}`, { name: user.name });
  const session = randomUUID();
  sessions.set(session, user);
  response.setHeader('Set-Cookie', `session=${session}; HttpOnly; SameSite=Strict; Path=/`);
  return send(response, 200, { laurelUrl: LAUREL_URL, leaderboard: LEADERBOARD, ...(await readMe(user)) });
}

async function bodyOf(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > maxBodyBytes) throw new Error('The body is too large.');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function send(response, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function serve(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost');
  const asset = request.method === 'GET' ? files.get(pathname) : undefined;
  if (asset) {
    response.writeHead(200, { 'Content-Type': asset[0] });
    response.end(asset[1]);
    return;
  }
  // Of another origin: a form there could send events for the user.
  if (request.method === 'POST' && request.headers['content-type'] !== 'application/json')
    return send(response, 415, { error: 'Send JSON.' });
  if (`${request.method} ${pathname}` === 'POST /api/sign-in') return signIn(request, response);
  const call = api[`${request.method} ${pathname}`];
  if (!call) return send(response, 404, { error: 'There is nothing here.' });
  const user = sessions.get(/(?:^|; )session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]);
  if (!user) return send(response, 401, { error: 'Sign in first.' });
  return send(response, 200, (await call(user)) ?? {});
}

createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error.message);
    if (!response.headersSent) send(response, 500, { error: 'Something went wrong: the log of the example has more.' });
  });
}).listen(Number(PORT), '127.0.0.1', () => {
  console.log(`The example is at http://localhost:${PORT}. Laurel must allow its origin: CORS_ORIGINS=http://localhost:${PORT}`);
});
