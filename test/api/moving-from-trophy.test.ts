import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { TrophyApiEnvironment } from '@trophyso/node';
import { expect } from 'chai';
import { bodyOf, readBoard, readPoints, read, until } from '../support/answers.js';
import { Contract } from '../support/contract.js';
import { startWorld, type World } from '../support/world.js';

const text = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const script = fileURLToPath(new URL('../../examples/import-from-trophy.mjs', import.meta.url));
const guide = text('../../docs/moving-from-trophy.md');
const blocks = (language: string): string[] =>
  Array.from(guide.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms')), ([, block = '']) => block);
const [final = '', importing = ''] = blocks('yaml');

interface HostedUser {
  readonly profile: object;
  readonly notifications?: object;
  readonly words?: number;
  readonly points?: number;
  readonly completed?: readonly string[];
  readonly freezes?: number;
}

const none = {
  email: null,
  name: null,
  tz: null,
  signUpDate: null,
  deviceTokens: null,
  subscribeToEmails: true,
  attributes: {},
  control: false,
};
const moments = { created: '2025-01-01T00:00:00Z', updated: '2025-06-01T00:00:00Z' };
/** What the hosted service has of a user, by user id. */
const hosted: Readonly<Record<string, HostedUser>> = {
  '18': {
    profile: {
      ...none,
      email: 'ana@example.com',
      name: 'Ana',
      tz: 'Europe/Lisbon',
      signUpDate: '2024-02-29',
      deviceTokens: ['token'],
      attributes: { plan: 'pro' },
    },
    notifications: { recap: ['email'], streak_reminder: [] },
    words: 2750,
    points: 320,
    freezes: 3,
    completed: ['joined-the-club'],
  },
  unsubscribed: { profile: { ...none, email: 'ben@example.com', subscribeToEmails: false }, words: 12, freezes: 0 },
  'nothing/known': { profile: none },
};

const achievement = { description: null, badgeUrl: null, userAttributes: [], completions: 1, rarity: 100, achievedAt: moments.updated };
const streak = {
  length: 0,
  frequency: 'daily',
  started: null,
  periodStart: null,
  periodEnd: null,
  expires: null,
  extended: null,
  streakHistory: [],
  pauses: [],
};

/** Responses of the hosted service about a user, by the path behind `/users/{id}`. */
function responsesOf(
  id: string,
  { profile, notifications = {}, words, points, completed = [], freezes }: HostedUser,
): Record<string, unknown> {
  const metric = { id: 'm', key: 'words-written', name: 'Words written', current: words, achievements: [] };
  const system = { id: 'p', key: 'xp', name: 'XP', description: null, badgeUrl: null, maxPoints: null, level: null, awards: [] };
  return {
    '': { id, ...profile, ...moments },
    '/metrics': words === undefined ? [] : [metric],
    '/points/xp': { ...system, total: points ?? 0 },
    '/preferences': { notifications },
    '/achievements': [
      { ...achievement, id: 'a', key: 'first-thousand', name: 'First thousand', trigger: 'metric' },
      ...completed.map((key) => ({ ...achievement, id: key, key, name: key, trigger: 'api' })),
    ],
    '/streak': { ...streak, ...(freezes === undefined ? {} : { freezes }) },
  };
}

/** A server with these responses at the paths of the hosted service, which refuses the first request as one too many. */
async function startHosted(): Promise<{ readonly server: Server; readonly url: string }> {
  const responses = new Map<string, unknown>();
  for (const [id, user] of Object.entries(hosted)) {
    for (const [rest, body] of Object.entries(responsesOf(id, user))) responses.set(`/v1/users/${encodeURIComponent(id)}${rest}`, body);
  }
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const body = responses.get(request.url ?? '');
    const soon = ['0', new Date().toUTCString()][requests - 1];
    if (soon !== undefined) response.writeHead(429, { 'Retry-After': soon }).end('{"error":"Too many requests"}');
    else if (request.headers['x-api-key'] !== 'hosted') response.writeHead(401).end('{"error":"Unauthorized"}');
    else if (body === undefined) response.writeHead(404).end('{"error":"Not found"}');
    else response.end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

describe('docs/moving-from-trophy.md', () => {
  let world: World;
  let service: { readonly server: Server; readonly url: string };
  before(async () => {
    world = await startWorld({ config: 'settings: {}' });
    service = await startHosted();
  });
  after(async () => {
    service.server.close();
    await world.stop();
  });

  /** Runs the import for users; the exit code and what it prints. */
  async function runImport(step: readonly string[], ids: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const keys = { TROPHY_API_KEY: 'hosted', LAUREL_API_KEY: world.settings.adminApiKey ?? '' };
    const env = { PATH: process.env.PATH, ...keys, TROPHY_URL: service.url, LAUREL_URL: world.address };
    return new Promise((resolve) => {
      const child = execFile(process.execPath, [script, ...step], { env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
      child.stdin?.end(ids.map((id) => `${id}\n`).join(''));
    });
  }

  it('names the addresses and the version of the client library that the tests call', () => {
    const { version } = JSON.parse(text('../../node_modules/@trophyso/node/package.json')) as { version: string };
    expect(guide).to.include(`\`@trophyso/node\` with an Admin API, such as ${version}`);
    const { api, admin } = TrophyApiEnvironment.Production;
    for (const address of [api, admin]) expect(guide).to.include(address);
  });

  it('is tested with responses of the contract’s shape', () => {
    const contract = new Contract();
    for (const [id, user] of Object.entries(hosted)) {
      for (const [rest, body] of Object.entries(responsesOf(id, user))) {
        const path = `/users/{id}${rest.replace('/xp', '/{key}')}`;
        expect(contract.problems('get', path, 200, body), `${id}${rest}`).to.deep.equal([]);
      }
    }
  });

  it('imports users, totals and points exactly, and sends no webhooks', async () => {
    await world.configure(importing);
    const users = ['users', 'xp=imported-xp'];
    // The second run finds everything there.
    for (let run = 1; run <= 2; run += 1) {
      const result = await runImport(users, Object.keys(hosted));
      expect(result).to.deep.equal({ code: 0, stdout: '3 users imported, 0 failed.\n', stderr: '' });
    }
    const own = { created: undefined, updated: undefined, control: undefined };
    for (const [id, { profile }] of Object.entries(hosted)) {
      const imported = await read<object>(world, `/v1/users/${encodeURIComponent(id)}`);
      expect({ ...imported, ...own }, id).to.deep.equal({ id, ...profile, ...own });
    }
    expect(await read(world, '/v1/users/18/preferences')).to.deep.equal({ notifications: hosted['18']?.notifications });
    expect(await readPoints(world, '18', 'xp')).to.deep.include({ total: 320 });
  });

  it('accepts the batch of the guide, as a replay of what the script has sent', async () => {
    const [batch = ''] = blocks('json');
    const reply = await world.request('POST', '/admin/v1/metrics/events', { body: JSON.parse(batch) });
    expect(bodyOf(reply, 202)).to.deep.equal({ accepted: 2, issues: [] });
    expect(await readPoints(world, '18', 'xp')).to.deep.include({ total: 320 });
  });

  it('puts imported users into the control group by the final ratio', async () => {
    const [before, after] = [importing, final].map((file) => /controlRatio: .*/.exec(file)?.[0]);
    expect(before).to.be.a('string').and.to.equal(after);
    const ids = Array.from({ length: 60 }, (_, i) => `u${i}`);
    for (const id of ids) bodyOf(await world.request('PUT', `/v1/users/${id}`, { body: {} }), 200);
    const inControl = await Promise.all(ids.map(async (id) => (await read<{ control: boolean }>(world, `/v1/users/${id}`)).control));
    expect(inControl).to.include(true).and.to.include(false);
  });

  it('continues from there once laurel.yaml is active, and sends no webhooks', async () => {
    await world.configure(final, { prune: true });
    await until('the board is filled', async () => (await readBoard(world, 'all-time')).length === 2);
    expect(await readBoard(world, 'all-time')).to.deep.equal(['1 18 2750', '2 unsubscribed 12']);
    const done = async (): Promise<string[]> => (await read<{ key: string }[]>(world, '/v1/users/18/achievements')).map(({ key }) => key);
    await until('the achievement is there', async () => (await done()).length > 1);
    expect(await done()).to.have.members(['first-thousand', 'joined-the-club']);
    expect((await world.event('words-written', { user: { id: '18' }, value: 100 })).status).to.equal(201);
    expect((await readPoints(world, '18', 'xp')).total).to.equal(330);
    await world.drain();
    const { rows } = await world.pool.query<{ count: number }>(`select count(*)::int from deliveries`);
    expect(rows[0]?.count).to.equal(0);
  });

  it('gives and takes freezes until users hold those of the hosted service', async () => {
    for (let run = 1; run <= 2; run += 1) {
      expect((await runImport(['streaks'], Object.keys(hosted))).code).to.equal(0);
      const held = async (id: string): Promise<number> => (await read<{ freezes: number }>(world, `/v1/users/${id}/streak`)).freezes;
      expect([await held('18'), await held('unsubscribed'), await held('nothing%2Fknown')]).to.deep.equal([3, 0, 0]);
    }
  });

  it('names the users that could not be imported', async () => {
    const { code, stdout, stderr } = await runImport(['users'], ['18', 'unknown']);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '1 users imported, 1 failed.\n' });
    expect(stderr).to.match(/^unknown: GET \S+\/users\/unknown: 404 /);
    expect((await runImport(['everything'], [])).code).to.equal(2);
  });
});
