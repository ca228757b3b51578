import { expect } from 'chai';
import { errorOf } from '../support/admin.js';
import { bodyOf, configText, track } from '../support/answers.js';
import { parseEmail } from '../support/mail-server.js';
import { identify, type Sender, sentMessages, startSender } from '../support/sent-messages.js';
import { startTenant, type World } from '../support/world.js';

const config = configText({
  attributes: [{ key: 'language', name: 'Language', type: 'user' }],
  metrics: [{ key: 'cards', name: 'Cards' }],
  leaderboards: [{ key: 'board', name: 'Board', rankBy: 'metric', metricKey: 'cards', status: 'active', start: '2040-01-01' }],
  messages: { brandUrl: 'https://app.example.com', localeAttribute: 'language' },
  templates: [
    { key: 'en', name: 'English', type: 'recap', locale: 'en', subject: 'Stored {{ user.name }}', pushTitle: 'Stored push' },
    { key: 'de', name: 'German', type: 'recap', locale: 'de', subject: 'Gespeichert' },
  ],
});

interface Rendered {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly push: { readonly title: string; readonly body: string; readonly url: string | null };
  readonly warnings: readonly string[];
}

describe('Previews and tests of a template that is not stored', () => {
  let sender: Sender;
  let world: World;
  before(async () => {
    sender = await startSender();
    world = await startTenant(sender.host, { config, now: '2040-01-02T12:00:00Z' });
    await identify(world, 'ana', { name: 'Ana <i>', attributes: { language: 'de' } });
    await track(world, 'cards', { user: 'ana', value: 1234.5 });
  });
  after(() => sender.stop());

  const post = (operation: 'preview' | 'test', body: object) =>
    world.request('POST', `/admin/v1/messages/${operation}`, { body: { type: 'recap', userId: 'ana', ...body } });
  const preview = async (body: object = {}): Promise<Rendered> => bodyOf(await post('preview', body), 200);

  it('shows the stored template in the locale of the user, or in another one', async () => {
    expect((await preview()).subject).to.equal('Gespeichert');
    expect((await preview({ locale: 'en-GB' })).subject).to.equal('Stored Ana <i>');
  });

  it('shows a draft in place of the stored template, in its locale, and lets what it leaves out fall back past it', async () => {
    const template = {
      subject: 'Draft {{ metrics.cards.total | number }}',
      body: '<b>{{ user.name }}</b>',
      buttonUrl: '{{ brand.url }}/x',
    };
    const { subject, html, text, push, warnings } = await preview({ locale: 'de', template });
    expect([subject, push.title, push.url]).to.deep.equal(['Draft 1.234,5', 'Stored push', 'https://app.example.com/x']);
    expect(html).to.include('&lt;b&gt;Ana &lt;i&gt;&lt;/b&gt;').and.not.include('<b>Ana');
    expect([text.includes('<b>Ana <i></b>'), warnings]).to.deep.equal([true, []]);
  });

  it('reads what only the draft names', async () => {
    const { subject } = await preview({ locale: 'en', template: { subject: 'Rank {{ leaderboards.board.rank }}' } });
    expect(subject).to.equal('Rank 1');
  });

  it('leaves the configuration as it is, and sends and stores nothing', async () => {
    await preview({ locale: 'en', template: { subject: 'Draft' } });
    expect((await preview({ locale: 'en' })).subject).to.equal('Stored Ana <i>');
    expect([sender.server.messages.length, await sentMessages(world)]).to.deep.equal([0, []]);
  });

  it('sends a draft to one address', async () => {
    const body = { email: 'ops@example.com', locale: 'en', template: { subject: 'Draft for {{ user.id }}' } };
    expect(bodyOf(await post('test', body), 200)).to.deep.include({ sent: true, subject: 'Draft for ana' });
    expect((await parseEmail(sender.server.messages.at(-1)!)).subject).to.equal('Draft for ana');
  });

  const refused: readonly (readonly [what: string, body: object, status: number, sentence: RegExp])[] = [
    ['a type that does not exist', { type: 'newsletter' }, 422, /`type` must be one of/],
    ['a user who does not exist', { userId: 'zoe' }, 404, /no user with the id "zoe"/],
    ['what is no locale', { locale: 'English!' }, 422, /`locale` must be a BCP 47 locale/],
    [
      'an unknown variable',
      { template: { subject: '{{ user.nam }}' } },
      422,
      /^Subject, line 1, column 4: there is no variable "user.nam"/,
    ],
    ['a key of no object', { template: { body: '{{ metrics.pages.total }}' } }, 422, /there is no metric "pages"/],
    ['a syntax error', { template: { heading: '{{ user' } }, 422, /^Heading, line 1, column 1: invalid Liquid/],
    ['a link to another host', { template: { buttonUrl: 'https://evil.example' } }, 422, /^ButtonUrl, .*messages\.linkHosts/],
    ['a text that is too long', { template: { subject: 'x'.repeat(501) } }, 422, /is longer than 500 characters/],
  ];
  for (const [what, body, status, sentence] of refused) {
    it(`refuses ${what} with a sentence`, async () => {
      const reply = await post('preview', body);
      expect(reply.status).to.equal(status);
      expect(errorOf(reply)).to.match(sentence);
    });
  }
});
