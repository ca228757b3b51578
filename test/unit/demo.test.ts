import { expect } from 'chai';
import { checkDemo, demoEnvironment } from '../../src/demo/demo.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../src/demo/receiver.js';
import { planStory, type Story, storyDays } from '../../src/demo/story.js';
import { parseSettings, webhookReceivers } from '../../src/app/settings.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import type { WebhookReceivers } from '../../src/config/schema/webhook-url.js';
import { Transport } from '../../src/webhooks/transport.js';
import { messageOf } from '../support/config.js';
import { type Receiver, startReceiver } from '../support/receiver.js';

const options = { seed: 3, users: 100, until: '2026-07-31' };
const dayMs = 86_400_000;

/** The moment of each user's first event. */
const arrivals = ({ scenes }: Story): number[] =>
  scenes.flatMap(({ atMs, events }) => events.filter(({ isFirst }) => isFirst).map(() => atMs));

describe('The story of the demo', () => {
  const story = planStory(options);

  it('depends on its options alone', () => {
    expect(planStory(options)).to.deep.equal(story);
    expect(planStory({ ...options, seed: 4 })).not.to.deep.equal(story);
  });

  it('gives a person the same habits whatever the number of the others', () => {
    const of = ({ scenes }: Story) =>
      scenes.flatMap(({ events }) => events.filter(({ person }) => person.id === first).map(({ atMs, value }) => [atMs, value]));
    const first = planStory({ ...options, users: 1 }).scenes[0]!.events[0]!.person.id;
    expect(of(planStory({ ...options, users: 1 })))
      .to.deep.equal(of(story))
      .and.to.have.length.above(0);
  });

  it('is in the order of time, within its days', () => {
    const moments = story.scenes.map(({ atMs }) => atMs);
    expect(moments).to.deep.equal([...new Set(moments)].sort((a, b) => a - b));
    expect(moments[0]).to.be.above(story.startMs);
    expect(moments.at(-1)).to.be.at.most(story.endMs);
    expect(story.firstDay).to.equal('2026-07-02');
  });

  it('has no two events of a person at the same time', () => {
    for (const { events } of story.scenes) {
      const people = events.map(({ person }) => person.id);
      expect(new Set(people).size).to.equal(people.length);
    }
  });

  it('begins with three cohorts in different weeks', () => {
    const days = arrivals(story).map((atMs) => Math.floor((atMs - Date.parse(story.firstDay)) / dayMs));
    const [one, two, three] = [days.filter((day) => day < 7), days.filter((day) => day >= 7 && day < 15), days.filter((day) => day >= 15)];
    for (const cohort of [one, two, three]) expect(cohort).to.have.length.above(options.users / 8);
    expect(days.filter((day) => day > 5 && day < 8)).to.deep.equal([]);
  });

  it('has people who come every day, and people who give up', () => {
    const seen = new Map<string, Set<number>>();
    for (const { events } of story.scenes) {
      for (const { person, atMs } of events) {
        seen.set(person.id, (seen.get(person.id) ?? new Set()).add(Math.floor(atMs / dayMs)));
      }
    }
    const days = [...seen.values()].map(({ size }) => size);
    expect(days).to.have.lengthOf(options.users);
    expect(days.filter((count) => count <= 5)).to.have.length.above(options.users / 6);
    expect(days.filter((count) => count >= storyDays * 0.8)).to.have.length.above(options.users / 20);
  });
});

describe('The environment of the demo', () => {
  for (const [variable, value] of [
    ['HOST', '0.0.0.0'],
    ['METRICS_HOST', '0.0.0.0'],
    ['ADMIN_API_KEY', 'admin.4f1c09b2a7e85d36'],
    ['DATA_DIR', '.laurel'],
  ] as const) {
    it(`may not have ${variable}=${value}`, () => {
      expect(() => checkDemo({ [variable]: value })).to.throw(new RegExp(`^${variable} must `));
    });
  }

  it('may be empty, or have a loopback address', () => {
    checkDemo({ HOST: '127.0.0.1', DATA_DIR: '' });
    checkDemo({});
  });
});

describe('The demo', () => {
  let own: WebhookReceiver;
  let other: Receiver;
  let receivers: WebhookReceivers;
  let otlpEndpoint: string | null;
  before(async () => {
    [own, other] = [await startWebhookReceiver(), await startReceiver()];
    const operator = { WEBHOOK_ALLOW_PRIVATE: '1', WEBHOOK_ORIGINS: other.url, OTEL_EXPORTER_OTLP_ENDPOINT: other.url };
    const place = { folder: '/nowhere', key: `demo.${'k'.repeat(16)}`, receiver: own.url };
    const settings = parseSettings({ ...operator, ...demoEnvironment(place) });
    [receivers, otlpEndpoint] = [webhookReceivers(settings), settings.otlpEndpoint];
  });
  after(() => Promise.all([own.stop(), other.stop()]));

  const endpoint = (url: string): string => `webhooks: [{key: w, name: W, url: "${url}", events: [streak.lost]}]`;
  const refusal = (url: string): string => messageOf(emptyConfig, endpoint(url), { webhookReceivers: receivers });

  it('contacts its own receiver, whatever the operator has set', async () => {
    const transport = new Transport({ receivers });
    expect(await transport.post(own.url, {}, '{}')).to.include({ isAccepted: true, status: 204 });
    expect(refusal(own.url)).to.equal('');
    await transport.stop();
  });

  it('contacts no other port, address or name', async () => {
    const asked: string[] = [];
    const resolve = (name: string) => {
      asked.push(name);
      return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    };
    const transport = new Transport({ receivers, resolve });
    const [ownPort, otherPort] = [own.url, other.url].map((url) => new URL(url).port);
    const others = [other.url, `http://127.0.0.2:${ownPort}`, `http://[::ffff:127.0.0.1]:${otherPort}`];
    const named = [
      `http://localhost:${otherPort}`,
      `http://hooks.example.com:${otherPort}`,
      'https://hooks.example.com',
      'http://10.0.0.1',
    ];
    for (const url of [...others, ...named, own.url.replace('http:', 'https:')]) {
      const reason = 'must be at an origin that WEBHOOK_ORIGINS lists';
      expect(await transport.post(url, {}, '{}'), url).to.include({ isAccepted: false, status: null, error: `the url ${reason}` });
      expect(refusal(url), url).to.include(`webhook "w": url ${reason}`);
    }
    expect([other.received, asked]).to.deep.equal([[], []]);
    await transport.stop();
  });

  it('contacts no receiver of traces', () => {
    expect(otlpEndpoint).to.equal(null);
  });
});

describe('The receiver of the demo', () => {
  it('has the port of the earlier run, or a free one while another program has that', async () => {
    const first = await startWebhookReceiver();
    const second = await startWebhookReceiver(first.url);
    expect(second.url).not.to.equal(first.url);
    await first.stop();
    const again = await startWebhookReceiver(first.url);
    expect(again.url).to.equal(first.url);
    await Promise.all([second.stop(), again.stop()]);
  });
});
