import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { prepareApi } from '../../src/api/router.js';
import { Links } from '../../src/messages/addresses/links.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, userPath } from '../support/answers.js';
import { signIn } from '../support/dashboard.js';
import { addEmailDelivery, unsubscribeLink } from '../support/email-deliveries.js';
import { identify } from '../support/sent-messages.js';
import { certificateUrl, snsMessage } from '../support/sns.js';
import { type Reply, startTenant, startWorld, type World } from '../support/world.js';

/** What one turn of the event loop may take. */
const mostMs = 20;

/** CPU time of the main thread in ms: other threads and processes do not count, however busy the machine is. */
const mainThreadMs = (): number => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/** The most CPU time that the main thread has used between two turns of the event loop while `work` ran. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = mainThreadMs();
  const beat = (): void => {
    const now = mainThreadMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const beats = setInterval(beat, 1);
  await work();
  beat();
  clearInterval(beats);
  return longest;
}

/** How slow this machine is now: memory and caches are shared with other processes. */
function slowness(): number {
  const quietMs = 10;
  const before = mainThreadMs();
  for (let round = 0; round < 20; round += 1)
    JSON.parse(JSON.stringify(Array.from({ length: 2_500 }, (_, no) => ({ no, text: `item ${no}` }))));
  return Math.max((mainThreadMs() - before) / quietMs, 1);
}

const list = <T>(count: number, make: (no: number) => T): T[] => Array.from({ length: count }, (_, no) => make(no));
const key = (type: string, no: number): string => `${type}-attribute-${no}`;
const attributes = (type: 'user' | 'event', count: number): object[] =>
  list(count, (no) => ({ type, key: key(type, no), name: `Attribute ${no}` }));
const values = (type: 'user' | 'event', count: number): object => Object.fromEntries(list(count, (no) => [key(type, no), `value ${no}`]));
const large = {
  attributes: [...attributes('user', 20), ...attributes('event', 10)],
  metrics: list(300, (no) => ({ key: `m${no}`, name: `Metric ${no}` })),
  achievements: list(300, (no) => ({
    key: `a${no}`,
    name: `Achievement ${no}`,
    trigger: 'metric',
    metricKey: `m${no}`,
    metricValue: 1_000,
    status: 'active',
  })),
  points: list(100, (no) => ({
    key: `p${no}`,
    name: `System ${no}`,
    levels: [{ key: 'one', name: 'One', points: 1 }],
    triggers: list(3, (at) => ({ key: `t${at}`, type: 'metric', metricKey: `m${no}`, metricThreshold: 1, points: 1, status: 'active' })),
  })),
  leaderboards: list(100, (no) => ({ key: `l${no}`, name: `Board ${no}`, status: 'active', rankBy: 'metric', metricKey: `m${no}` })),
};
const asYaml = configText(large);
/** Valid YAML of short nested lists, in an unknown field. */
const nested = `metrics:\n${'- [[a],[a],[a],[a]]\n'.repeat(45_000)}`;
const conditions = list(80, (no) => `{% if user.name == "${no}" %}a{% endif %}`).join('');
const templates = list(24, (no) => ({ key: `t${no}`, name: `Text ${no}`, type: 'recap', locale: 'en', heading: 'Hi', body: conditions }));
/** 400 days up to the clock of a world. */
const days = 'startDate=2038-11-29&endDate=2040-01-02';
const endless = `{% assign a = "${'😀'.repeat(200)}" | url_encode | url_encode | url_encode %}${'{{ a | url_encode | upcase | downcase | size }}'.repeat(60)}`;

/** The largest text of a template, most of it in a loop over days. */
const repeated = (piece: string): string => `{% for d in streak.days %}${piece.repeat(Math.floor(4_900 / piece.length))}{% endfor %}`;
const looped = [
  ['spaces', ' '],
  ['tabs', '\t'],
  ['short lines', 'a\n'],
  ['lines of spaces', 'a\n \n'],
  ['paragraphs', 'a\n\n'],
] as const;
const queries = [
  ['one parameter very often', 'a&'.repeat(7_500)],
  ['one parameter with values', 'userIds=a&'.repeat(1_500)],
  ['parameters of different names', Array.from({ length: 2_000 }, (_, no) => `a${no}`).join('&')],
] as const;

/** An event with all properties. */
const event = {
  key: 'm0',
  idempotencyKey: 'event',
  value: 1.5,
  attributes: values('event', 10),
  user: { id: 'ana', name: 'Ana', tz: 'Europe/Paris', deviceTokens: list(5, (at) => `token ${at}`), attributes: values('user', 20) },
};

const eventOf = (id: string, no: number): object => ({ ...event, idempotencyKey: `event ${no}`, user: { ...event.user, id } });

/** Texts, since to make them takes time of the event loop too. */
const fullBatch = JSON.stringify(list(1_000, (no) => eventOf(`user ${no % 50}`, no)));
const unknown = Object.fromEntries(list(95, (at) => [`k${at}`, '1']));
const unknownBatch = JSON.stringify(list(700, (no) => ({ ...eventOf('ana', no), attributes: unknown })));

const fill = (piece: (no: number) => string, bytes: number): string => {
  const pieces: string[] = [];
  for (let size = 0, no = 0; size < bytes; no += 1) {
    const next = piece(no);
    pieces.push(next);
    size += next.length + 1;
  }
  return pieces.join();
};
/** Nearly all that a route with 2 MiB accepts, and nearly all that others do. */
const most = limits.maxBatchEventsBytes - 1_000;
const small = limits.maxBodyBytes - 1_000;
const distinct = (no: number): string => `"k${no}":1`;
const object = (no: number): string => `{${fill((at) => distinct(no * 1_000 + at), 1_500)}}`;
const hostile: readonly (readonly [what: string, path: string, status: number, raw: string])[] = [
  ['a list of ones', '/admin/v1/metrics/events', 422, `[${fill(() => '1', most)}]`],
  ['one large item', '/admin/v1/metrics/events', 422, `[[${fill((no) => `{${distinct(no)}}`, 1.5e6)}]]`],
  ['items of different keys', '/admin/v1/metrics/events', 422, `[${fill(object, 9e5)}]`],
  ['a file of ones', '/admin/v1/configuration/dry-run', 422, `{"file":{"metrics":[${fill(() => '1', most)}]}}`],
  ['a file of different keys', '/admin/v1/configuration/dry-run', 200, `{"file":{${fill(distinct, 9e5)}}}`],
  ['a field of different keys', '/admin/v1/configuration/dry-run', 422, `{"files":{${fill(distinct, 9e5)}}}`],
  ['unknown fields beside a file', '/admin/v1/configuration/dry-run', 422, `{"file":"a",${fill(distinct, 9e5)}}`],
  ['a text of escapes', '/admin/v1/configuration/dry-run', 200, `{"file":"${'\\u00e9'.repeat(300_000)}"}`],
  ['a user with an object of different keys', '/v1/metrics/m0/event', 422, `{"user":{${fill(distinct, small)}}}`],
  ['a user with a list of different objects', '/v1/metrics/m0/event', 422, `{"user":[${fill((no) => `{${distinct(no)}}`, small)}]}`],
  ['metrics with different keys', '/admin/v1/metrics', 422, `[${fill((no) => `{${distinct(no)}}`, small)}]`],
];

describe('The event loop', () => {
  let world: World;
  let emptyTenant: World;
  let page: string;
  before(async () => {
    world = await startWorld({
      config: asYaml,
      settings: { metricsPort: 0, sesTopicArn: 'arn:aws:sns:eu-west-1:1:bounces', publicUrl: 'https://laurel.example/' },
    });
    emptyTenant = await startTenant(world, {});
    await identify(world, 'ana', {});
    await batch([event]);
    page = new URL(
      await unsubscribeLink(world, new Links(world.pool, world.settings.publicUrl), {
        user: 'ana',
        delivery: await addEmailDelivery(world, 'ana'),
      }),
    ).pathname;
    // The threads, and the code that every request runs.
    await dryRun(asYaml);
    await preview('Hi');
    prepareApi();
    await world.get('/admin/v1/configuration/file');
    // The check of responses against the reference compiles the largest schema.
    await read('/wrapped?year=2039');
    await world.get('/admin/v1/configuration/versions/1');
  });
  after(() => world.stop());

  const batch = (body: readonly object[]): Promise<Reply> => world.request('POST', '/admin/v1/metrics/events', { body });
  const rawBatch = (raw: string): Promise<Reply> => world.request('POST', '/admin/v1/metrics/events', { raw });
  const read = (path: string): Promise<Reply> => world.get(userPath('ana', path));
  const withoutKey = (path: string): Promise<Reply> => world.request('GET', path, { key: null });
  const scrape = async (): Promise<Reply> => {
    const response = await fetch(`${world.metricsAddress}/metrics`);
    // A body that is not read keeps its connection open until it is collected.
    return { status: response.status, headers: response.headers, body: await response.text() };
  };
  const notification = (): Promise<Reply> => {
    const wrong = certificateUrl.replace('sns.', 'sns.s3.');
    const body = snsMessage('Notification', { SigningCertURL: wrong, Message: '{"notificationType":"Bounce"}' });
    return world.request('POST', '/m/bounces/ses', { body, key: null });
  };
  const dryRun = (file: unknown, prune = false): Promise<Reply> =>
    world.request('POST', '/admin/v1/configuration/dry-run', { body: { file, prune } });
  const preview = (body: string): Promise<Reply> =>
    world.request('POST', '/admin/v1/messages/preview', { body: { type: 'recap', userId: 'ana', template: { body } } });
  const apply = (file: string): Promise<Reply> => world.request('POST', '/admin/v1/configuration/apply', { body: { file } });
  const createIn = (path: string, body: readonly object[]): Promise<Reply> => emptyTenant.request('POST', `/admin/v1/${path}`, { body });
  const rename = async (): Promise<Reply> => {
    const metrics = bodyOf<readonly { readonly id: string }[]>(await world.get('/admin/v1/metrics?limit=20'), 200);
    const changes = metrics.map(({ id }) => ({ id, name: 'Renamed' }));
    return world.request('PATCH', '/admin/v1/metrics', { body: changes });
  };

  const requests: readonly (readonly [what: string, status: number, send: () => Promise<Reply>])[] = [
    ['a preview of a template without end', 422, () => preview(endless)],
    ['a preview with very many filters', 422, () => preview(`{{ "${'😀'.repeat(1_500)}"${'|url_encode'.repeat(280)}|size }}`)],
    ...looped.map(([what, piece]) => [`a preview that repeats ${what}`, 200, () => preview(`y${repeated(piece)}x`)] as const),
    ['a dry run of 1 MB of nested YAML', 200, () => dryRun(nested)],
    ['a dry run of a large file', 200, () => dryRun(asYaml)],
    ['a dry run of an empty file that prunes', 200, () => dryRun('metrics: []', true)],
    ['a dry run of a large file as an object', 200, () => dryRun(large)],
    ['an export', 200, () => world.get('/admin/v1/configuration/file')],
    ['the configuration', 200, () => world.get('/admin/v1/configuration')],
    ['the schema of a configuration file', 200, () => world.get('/admin/v1/configuration/schema')],
    ['a version', 200, () => world.get('/admin/v1/configuration/versions/1')],
    ['the list of versions', 200, () => world.get('/admin/v1/configuration/versions')],
    ['the recipients of a message', 200, () => world.get('/admin/v1/messages/recipients?type=recap')],
    ['a year in review', 200, () => read('/wrapped?year=2040')],
    ['a summary of 400 days of a metric', 200, () => read(`/metrics/m0/event-summary?aggregation=daily&${days}`)],
    ['a summary of 400 days of points', 200, () => read(`/points/p0/event-summary?aggregation=daily&${days}`)],
    ...queries.map(([what, query]) => [`a query of ${what}`, 422, () => world.get(`/v1/achievements?${query}`)] as const),
    ['the reference of the Application API', 200, () => withoutKey('/v1/openapi')],
    ['the reference of the Admin API', 200, () => withoutKey('/admin/v1/openapi')],
    ['a scrape of the metrics', 200, scrape],
    ['a sign-in with a wrong key', 401, () => signIn(world, 'test.wrong')],
    ['a notification with the address of a foreign certificate', 401, notification],
    ['the page of a link', 200, () => withoutKey(page)],
    ...hostile.map(([what, path, status, raw]) => [what, status, () => world.request('POST', path, { raw })] as const),
    ['a batch of 1,000 events with all properties', 202, () => rawBatch(fullBatch)],
    ['a batch of events with unknown attributes', 202, () => rawBatch(unknownBatch)],
    ['a batch of changes, and the new configuration', 200, rename],
    ['an applied file, and the new configuration', 200, () => apply(asYaml.replaceAll('Metric ', 'Measure '))],
    [
      'a batch of new metrics for an empty tenant',
      201,
      () =>
        createIn(
          'metrics',
          list(100, (no) => ({ key: `n${no}`, name: `New ${no}` })),
        ),
    ],
    ['a batch of new templates for an empty tenant', 201, () => createIn('templates', templates)],
  ];
  for (const [what, status, send] of requests) {
    it(`is held for at most ${mostMs} ms by ${what}`, async () => {
      // What a host takes from a virtual machine counts as its CPU time, and only adds to it: the least of several is the request's own. A refused
      // request changes nothing.
      const turns: number[] = [];
      for (let run = 0; run < (status >= 400 ? 5 : 1); run += 1) {
        const longest = await longestTurn(async () => {
          expect((await send()).status).to.equal(status);
        });
        turns.push(longest / slowness());
      }
      expect(Math.min(...turns)).to.be.below(mostMs);
    });
  }
});
