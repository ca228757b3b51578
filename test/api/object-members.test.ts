import { expect } from 'chai';
import type { ExpoPushReceipt } from 'expo-server-sdk';
import { changesOf, formOf } from '../../src/dashboard/page/screens/users/profile/user-edit.js';
import { progressOf, standingOf } from '../../src/dashboard/page/screens/users/progress/progress.js';
import { postmarkFeedback } from '../../src/messages/feedback/postmark.js';
import { ReceiptReader } from '../../src/messages/send/push/receipt-reader.js';
import { saveTickets } from '../../src/messages/send/push/receipts.js';
import { errorOf } from '../support/admin.js';
import { bodyOf, configText, type Profile, read, readBoard, readProfile, track, userPath } from '../support/answers.js';
import { parseEmail } from '../support/mail-server.js';
import { messagesOf, subscription } from '../support/messages.js';
import { identify, type Sender, startSender, Timeline } from '../support/sent-messages.js';
import { startTenant, type World } from '../support/world.js';
import type { Wrapped } from '../support/wrapped.js';

/** The names that every object of JavaScript inherits. */
const members = Object.getOwnPropertyNames(Object.prototype);
const reserved = '__proto__';
/** Those that can be keys. */
const keys = members.filter((name) => name !== reserved);
const [first = '', second = ''] = keys;

const byMember = <T>(valueOf: (name: string) => T): Record<string, T> => Object.fromEntries(keys.map((name) => [name, valueOf(name)]));
/** An object with a field of its own that is named like a member; a literal with `__proto__` would have another prototype. */
const field = (name: string, value: unknown): object => Object.fromEntries([[name, value]]);

const variables = keys.flatMap((name) => [
  `{{ user.attributes.${name} }}`,
  `{{ metrics.${name}.total }}`,
  `{{ points["${name}"].total }}`,
  `{{ leaderboards.${name}.rank }}`,
]);
const body = variables.join('/');

const config = configText({
  attributes: keys.flatMap((key) => ['user', 'event'].map((type) => ({ key, name: key, type }))),
  metrics: keys.map((key) => ({ key, name: key })),
  points: keys.map((key) => ({
    key,
    name: key,
    levels: [{ key, name: key, points: 1 }],
    triggers: [{ key, type: 'metric', metricKey: key, metricThreshold: 1, points: 2, status: 'active' }],
  })),
  streaks: { enabled: true, frequency: 'daily', metrics: keys.map((metricKey) => ({ metricKey, threshold: 1 })) },
  achievements: keys.map((key) => ({
    key,
    name: key,
    trigger: 'metric',
    metricKey: key,
    metricValue: 3,
    status: 'active',
    userAttributes: [{ attributeKey: key, attributeValue: reserved }],
    eventAttributes: [{ attributeKey: key, attributeValue: reserved }],
  })),
  leaderboards: [
    ...keys.map((key) => ({ key, name: key, status: 'active', rankBy: 'metric', metricKey: key, start: '2040-01-01' })),
    {
      key: 'groups',
      name: 'Groups',
      status: 'active',
      rankBy: 'metric',
      metricKey: first,
      start: '2040-01-01',
      breakdownAttributes: [first],
    },
  ],
  messages: { brandUrl: 'https://app.example.com', localeAttribute: second },
  templates: ['achievement_completed', 'recap', 'reactivation', 'streak_reminder'].map((type) => ({
    key: type,
    name: type,
    type,
    locale: 'en',
    subject: '{{ user.id }}',
    body,
  })),
  webhooks: [subscription('achievement.completed')],
});

/** What a template shows of each key. */
const shown = (attribute: string, total: number): string => keys.map(() => `${attribute}/${total}/${2 * total}/1`).join('/');

describe('Names of members of JavaScript objects', () => {
  let sender: Sender;
  let world: World;
  before(async () => {
    sender = await startSender();
    world = await startTenant(sender.host, { config, now: '2040-01-02T12:00:00Z' });
    // Ana has no value of any attribute, and Ben is named in all of them.
    await identify(world, 'ana', { deviceTokens: [] });
    for (const key of keys) await track(world, key, { user: 'ana', value: 2 });
  });
  after(() => sender.stop());

  const preview = (body: object) => world.request('POST', '/admin/v1/messages/preview', { body: { userId: 'ana', ...body } });

  describe('as keys', () => {
    it('are in no profile of a user without values, and each in that of a user with values', async () => {
      expect((await readProfile(world, 'ana')).attributes).to.deep.equal({});
      const attributes = byMember((name) => name);
      await identify(world, 'pia', { attributes });
      const profile = await readProfile(world, 'pia');
      expect(profile.attributes).to.deep.equal(attributes);
      expect(await read(world, '/admin/v1/users?search=pia')).to.deep.equal([profile]);
    });

    it('render in previews and emails for users with and without values', async () => {
      for (const type of ['achievement_completed', 'recap', 'reactivation', 'streak_reminder']) {
        expect(bodyOf<{ text: string }>(await preview({ type }), 200).text, type).to.include(shown('', 2));
      }
      await identify(world, 'zoe', { deviceTokens: [], attributes: field(first, reserved) });
      await track(world, first, { user: 'zoe', value: 3, attributes: field(first, reserved) as Record<string, string> });
      expect(await new Timeline(world).at('2040-01-02T17:00:00Z')).to.include('achievement_completed email zoe');
      const sent = await Promise.all(sender.server.messages.map(parseEmail));
      expect(sent.find((email) => email.subject === 'zoe')?.text).to.include('__proto__/3/6/1//0/0//');
    });

    it('name everything in the response to an event, in reads, the timeline and the year in review', async () => {
      const values = byMember(() => reserved);
      for (const key of keys) {
        const { points, leaderboards, achievements } = await track(world, key, {
          user: { id: 'ben', attributes: values },
          value: 4,
          attributes: values,
        });
        const boards = key === first ? [key, 'groups'] : [key];
        expect([Object.keys(points), Object.keys(leaderboards)], key).to.deep.equal([[key], boards]);
        expect(achievements, key).to.have.lengthOf(1);
        expect(await read(world, userPath('ben', `/metrics/${key}`)), key).to.include({ key, current: 4 });
        expect(await read(world, userPath('ben', `/points/${key}`)), key).to.include({ key, total: 8 });
        expect(await read(world, userPath('ben', `/leaderboards/${key}`)), key).to.include({ key, value: 4 });
        expect(await readBoard(world, key, '?limit=1'), key).to.deep.equal(['1 ben 4']);
        expect(await read(world, `/v1/points/${key}/summary?userAttributes=${key}:${reserved}`), key).to.have.length.above(0);
      }
      expect(await readBoard(world, 'groups', `?userAttributes=${first}:${reserved}`)).to.include('1 ben 4');
      const { entries } = await read<{ entries: { type: string; attributes: object }[] }>(world, '/admin/v1/users/ben/timeline');
      expect(entries.find(({ type }) => type === 'event')?.attributes).to.deep.equal(values);
      const { activity } = await read<Wrapped>(world, userPath('ben', '/wrapped?year=2040'));
      for (const part of [activity.mostActiveDay, activity.mostActiveWeek, activity.mostActiveMonth, activity.entireYear]) {
        expect(Object.keys(part.metrics)).to.have.members(keys);
        expect(Object.keys(part.points)).to.have.members(keys);
        expect(Object.keys(part.leaderboards)).to.include.members(keys);
        expect(part.achievements.map(({ key }) => key)).to.have.members(keys);
        for (const [metric, { byAttribute }] of Object.entries(part.metrics)) {
          expect(Object.keys(byAttribute), metric).to.have.members(keys);
          for (const sums of Object.values(byAttribute)) expect(Object.keys(sums), metric).to.deep.equal([reserved]);
        }
      }
    });

    it('are in the payloads of webhooks', async () => {
      const payloads = (await messagesOf(world)).filter(({ user, kind }) => user === 'ben' && kind === 'achievement.completed');
      expect(payloads.map(({ payload }) => payload.achievement?.key)).to.deep.equal(keys);
      const { attributes } = payloads[0]!.payload.user as Profile;
      expect(attributes).to.deep.equal(byMember(() => reserved));
    });

    it('are in lists and in the exported file, which changes nothing when it is applied', async () => {
      for (const list of ['attributes', 'metrics', 'points', 'leaderboards', 'achievements']) {
        const all = await read<{ key: string }[]>(world, `/admin/v1/${list}?limit=100`);
        expect([...new Set(all.map(({ key }) => key))], list).to.include.members(keys);
        for (const name of members) expect((await world.get(`/admin/v1/${list}?${name}=x&limit=100`)).body, name).to.deep.equal(all);
      }
      const file = bodyOf<string>(await world.get('/admin/v1/configuration/file'), 200);
      const again = await world.request('POST', '/admin/v1/configuration/dry-run', { body: { file, prune: true } });
      expect(bodyOf(again, 200)).to.deep.include({ changes: [], problems: [] });
    });

    it('are not shown as values of a user on the screens of the dashboard', async () => {
      const { attributes, ...profile } = await readProfile(world, 'ana');
      const achievements = await read<Parameters<typeof progressOf>[0][]>(world, userPath('ana', '/achievements?includeIncomplete=true'));
      const standing = standingOf({ attributes, signUpDate: null }, { achievements, metrics: [], streakLength: 0 });
      expect(achievements.flatMap((goal) => progressOf(goal, standing).obstacles)).to.have.members(
        keys.map((key) => `Needs ${key} = ${reserved}; the user has no value.`),
      );
      const user = { ...profile, attributes };
      expect(changesOf(user, { ...formOf(user), attributes: byMember(() => '') })).to.deep.equal({});
    });
  });

  describe('as the key __proto__, which JSON parsers refuse,', () => {
    const refusal = 'key must not be __proto__, which many JSON parsers refuse: choose another key';
    const lists: Readonly<Record<string, object>> = {
      attributes: { type: 'user' },
      metrics: {},
      points: {},
      leaderboards: { rankBy: 'streak' },
      achievements: { trigger: 'api' },
    };
    for (const [list, more] of Object.entries(lists)) {
      it(`are refused in ${list} of files and of the Admin API`, async () => {
        const object = { key: reserved, name: 'A', ...more };
        const dry = await world.request('POST', '/admin/v1/configuration/dry-run', { body: { file: { [list]: [object] } } });
        expect(JSON.stringify(bodyOf<{ problems: unknown[] }>(dry, 200).problems), list).to.include(refusal);
        const body = [{ ...object, ...(list === 'leaderboards' ? { start: '2041-01-01' } : {}) }];
        expect(JSON.stringify((await world.request('POST', `/admin/v1/${list}`, { body })).body), list).to.include(refusal.slice(4));
        expect((await read<{ key: string }[]>(world, `/admin/v1/${list}?limit=100`)).map(({ key }) => key)).to.not.include(reserved);
      });
    }

    it('are refused in events and filters', async () => {
      const raw = `{"user":{"id":"eve"},"value":1,"attributes":{"${reserved}":"x"}}`;
      const sent = await world.request('POST', `/v1/metrics/${first}/event`, { raw });
      expect([sent.status, errorOf(sent)]).to.deep.equal([422, 'The body must not have a field named `__proto__`.']);
      for (const path of ['/v1/achievements', `/v1/points/${first}/summary`, '/v1/leaderboards/groups']) {
        expect((await world.get(`${path}?userAttributes=${reserved}:x`)).status, path).to.equal(422);
      }
    });
  });

  describe('as values', () => {
    it('of any field are refused or kept, and are no error of Laurel', async () => {
      for (const name of members) {
        const fields = {
          key: 'a',
          name,
          type: name,
          unitType: name,
          trigger: name,
          status: name,
          rankBy: name,
          runUnit: name,
          locale: name,
        };
        const nested = { triggers: [fields], levels: [fields], boosts: [fields] };
        for (const list of ['attributes', 'metrics', 'points', 'achievements', 'leaderboards', 'templates', 'webhooks', name]) {
          for (const file of [field(list, [fields]), field(list, [{ ...fields, ...nested }]), field(list, fields)]) {
            const body = { file: JSON.stringify(file) };
            const { status } = await world.request('POST', '/admin/v1/configuration/dry-run', { body });
            expect(status, `${list} ${name}`).to.equal(200);
          }
          if (list === name) continue;
          const { status } = await world.request('POST', `/admin/v1/${list}`, { body: [fields] });
          expect(status, `${list} ${name}`).to.be.oneOf([200, 201, 422]);
        }
      }
    });

    it('of a Content-Encoding are unknown', async () => {
      const headers = { 'Content-Type': 'application/json' };
      for (const name of members) {
        const raw = '{"id":"\ufffd"}';
        const reply = await world.request('POST', '/v1/users', { raw, headers: { ...headers, 'Content-Encoding': name } });
        expect(reply.status, name).to.equal(400);
      }
    });

    it('of a reason of Postmark are unknown reasons', () => {
      for (const reason of members) {
        const webhook = {
          RecordType: 'SubscriptionChange',
          Recipient: 'a@example.com',
          SuppressSending: true,
          SuppressionReason: reason,
        } as const;
        expect(postmarkFeedback(webhook)?.kind, reason).to.equal('manual');
      }
    });

    it('of a ticket of Expo have no receipt unless Expo has one, and as its error they are counted', async () => {
      const tickets = members.map((ticket) => ({ ticket, tenant: world.tenant, user: 'ana', token: `expo:${ticket}` }));
      const errors = ['', ...members].map((code): ExpoPushReceipt => {
        return { status: 'error', message: 'Failed', details: { error: code as 'DeveloperError' } };
      });
      const due = errors.map((_, i) => ({ ...tickets[0]!, ticket: `t${i}` }));
      await saveTickets(world.pool, [...tickets, ...due], new Date(0), new Date(0));
      const receipts = Object.fromEntries(due.map(({ ticket }, i) => [ticket, errors[i]!]));
      const expo = { receipts: () => Promise.resolve(receipts) };
      const reader = new ReceiptReader({ pool: world.pool, expo, onGone: () => Promise.resolve(), clock: () => 1 });
      const found = await reader.read();
      expect(found.missing).to.equal(tickets.length);
      expect(Object.entries(found.errors)).to.have.deep.members(['', ...members].map((code) => [code, 1]));
    });
  });
});
