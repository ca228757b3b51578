import { expect } from 'chai';
import { exportConfig } from '../../src/config/file/export.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { validateConfig } from '../../src/config/check/validate.js';
import { isPublicAddress } from '../../src/config/schema/webhook-url.js';
import { webhookKinds } from '../../src/config/schema/webhook-kinds.js';
import { subscribedKinds } from '../../src/deliveries/outbox.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { contractWebhooks } from '../support/contract.js';
import { after, apply, lines, messageOf, only } from '../support/config.js';

const file = (fields = '', kinds = 'points.changed'): string =>
  `webhooks: [{key: w, name: W, url: "https://hooks.example.com/a?b=c", events: [${kinds}]${fields}}]\n`;
const at = (url: string): string => `webhooks: [{key: w, name: W, url: ${JSON.stringify(url)}, events: [points.changed]}]\n`;

describe('Webhooks in a configuration', () => {
  it('know the kinds of the contract, and no other', () => {
    expect([...webhookKinds].sort()).to.deep.equal(contractWebhooks().sort());
  });

  it('are stored with what the file leaves out', () => {
    const { id, no, ...webhook } = only(after(file()).webhooks);
    expect(typeof id).to.equal('string');
    expect(no).to.equal(1);
    expect(webhook).to.deep.include({ key: 'w', name: 'W', url: 'https://hooks.example.com/a?b=c', events: ['points.changed'] });
    expect(webhook).to.deep.include({ status: 'active', archived: false });
  });

  it('are exported as they were applied, and applying that changes nothing', () => {
    const document = after(file(', status: inactive', 'streak.lost, points.changed'));
    const text = exportConfig(document);
    expect(apply(document, text).changes).to.deep.equal([]);
    expect(exportConfig(after(text))).to.equal(text);
  });

  it('change, go, and come back as others', () => {
    const document = after(file());
    expect(lines(document, file(', status: inactive', 'streak.lost'))).to.deep.equal([
      '~ webhook w: events [points.changed] -> [streak.lost], status "active" -> "inactive"',
    ]);
    const archived = apply(document, 'metrics: []', { prune: true }).document;
    expect(archived.webhooks.map((webhook) => webhook.archived)).to.deep.equal([true]);
    const again = apply(archived, file());
    expect(again.document.webhooks.map(({ no, archived: isGone }) => [no, isGone])).to.deep.equal([
      [1, true],
      [2, false],
    ]);
    expect(validateConfig(again.document)).to.deep.equal([]);
    expect(new ActiveConfig({ tenant: 1, version: 1, document: again.document }).webhooks.map(({ no }) => no)).to.deep.equal([2]);
  });

  it('are subscribed to by those that are active', () => {
    const text = `webhooks:
      - {key: a, name: A, url: "https://a.example.com", events: [points.changed, streak.lost]}
      - {key: b, name: B, url: "https://b.example.com", events: [points.changed, streak.started]}
      - {key: c, name: C, url: "https://c.example.com", events: [leaderboard.changed], status: inactive}`;
    const kinds = subscribedKinds(new ActiveConfig({ tenant: 1, version: 1, document: after(text) }));
    expect([...kinds].sort()).to.deep.equal(['points.changed', 'streak.lost', 'streak.started']);
  });

  it('are at most 50', () => {
    const some = Array.from({ length: 51 }, (_, i) => `  - {key: w${i}, name: W, url: "https://example.com", events: [points.changed]}`);
    expect(messageOf(emptyConfig, `webhooks:\n${some.join('\n')}`)).to.include('51 webhooks exceed the limit of 50');
  });

  const refused: readonly (readonly [text: string, sentence: string])[] = [
    [file('', 'points.changd'), 'webhook "w": events must be achievement.completed or streak.started or '],
    [file('', ''), 'webhook "w": events must name at least one kind of event'],
    [file('', 'streak.lost, streak.lost'), 'webhook "w": events must not list a kind twice'],
    [file(', status: on'), 'webhook "w": status must be active or inactive, not "on"'],
    [file(', secret: abc'), 'webhook "w": unknown field "secret"'],
    [at('example.com'), 'webhook "w": url must be a URL like https://example.com/webhooks'],
    [at('https://exa mple.com'), 'webhook "w": url must be a URL like https://example.com/webhooks'],
    [at('https://example.com/\n'), 'webhook "w": url must be a URL like https://example.com/webhooks'],
    [at('ftp://example.com'), 'webhook "w": url must be a URL that starts with https://'],
    [at('file:///etc/passwd'), 'webhook "w": url must be a URL that starts with https://'],
    [at('https://user@example.com'), 'webhook "w": url must not contain a user name or a password'],
    [at('https://:secret@example.com'), 'webhook "w": url must not contain a user name or a password'],
    [at(`https://example.com/${'a'.repeat(2048)}`), 'webhook "w": url is longer than 2,048 characters'],
    [at('http://example.com'), 'webhook "w": url must start with https:// (WEBHOOK_ALLOW_PRIVATE=1 allows http)'],
    ...[
      ...['localhost', 'LOCALHOST.', 'db.internal', '127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0', '10.0.0.1'],
      ...['172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '224.0.0.1', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[fe80::1]'],
      ...['[fd00::1]', '[64:ff9b::a00:1]', '[2002:a00:1::1]', '[::127.0.0.1]'],
    ].map((host) => [at(`https://${host}:8443/x`), 'webhook "w": url must not lead to a private address or to this machine'] as const),
  ];
  for (const [text, sentence] of refused) {
    it(`are refused: ${text.slice(0, 110).trim()}`, () => {
      expect(messageOf(emptyConfig, text)).to.include(sentence);
    });
  }

  it('may be private where that is allowed', () => {
    for (const url of ['http://example.com', 'http://localhost:3000', 'https://10.0.0.1/x', 'http://[::1]:80']) {
      const options = { webhookReceivers: 'any' } as const;
      expect(messageOf(emptyConfig, at(url), options), url).to.equal('');
    }
    expect(messageOf(emptyConfig, at('http://a:b@localhost'), { webhookReceivers: 'any' })).to.include('user name or a password');
  });

  const addresses: Readonly<Record<string, boolean>> = {
    '8.8.8.8': true,
    '1.1.1.1': true,
    '2606:4700::1111': true,
    '2a00:1450:4001::1': true,
    '0.0.0.0': false,
    '10.0.0.1': false,
    '100.64.0.1': false,
    '127.0.0.1': false,
    '127.255.255.254': false,
    '169.254.169.254': false,
    '172.16.0.1': false,
    '172.31.255.255': false,
    '192.0.0.1': false,
    '192.168.0.1': false,
    '198.18.0.1': false,
    '203.0.113.1': false,
    '224.0.0.1': false,
    '240.0.0.1': false,
    '255.255.255.255': false,
    '::': false,
    '::1': false,
    '::ffff:127.0.0.1': false,
    '::ffff:8.8.8.8': false,
    '::127.0.0.1': false,
    '::ffff:0:127.0.0.1': false,
    '64:ff9b::7f00:1': false,
    '64:ff9b:1::7f00:1': false,
    '2001::1': false,
    '2001:db8::1': false,
    '2002:7f00:1::1': false,
    'fe80::1': false,
    'fe80::1%eth0': false,
    'fec0::1': false,
    'fd00::1': false,
    'ff02::1': false,
    '4000::1': false,
    '100::1': false,
    '': false,
    'example.com': false,
    '1.2.3': false,
  };
  for (const [address, isPublic] of Object.entries(addresses)) {
    it(`take ${JSON.stringify(address)} for ${isPublic ? 'public' : 'private'}`, () => {
      expect(isPublicAddress(address)).to.equal(isPublic);
    });
  }
});
