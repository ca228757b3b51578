import { expect } from 'chai';
import pino from 'pino';
import { bodyOf, configText, read } from '../support/answers.js';
import { briefly, identify, sentMessages, untilEnded } from '../support/sent-messages.js';
import { startWorld, type World } from '../support/world.js';

/** A valid template whose work between two checks of the library is small, and long in all. */
const endless = `{% assign a = "${'😀'.repeat(200)}" | url_encode | url_encode | url_encode %}{% for day in streak.days %}${'{{ a | url_encode | upcase | downcase | size }}'.repeat(80)}{% endfor %}`;
const templateOf = (body: string): object => ({
  key: 'back',
  name: 'Back',
  type: 'reactivation',
  locale: 'en',
  subject: 'Come back',
  body,
});
const config = (body: string): string =>
  configText({
    settings: { reactivationDays: [1, 2, 3] },
    metrics: [{ key: 'm', name: 'M' }],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
    messages: { recap: [], streakReminder: [], achievementCompleted: [], reactivation: ['email'] },
    templates: [templateOf(body)],
  });

describe('A template that is too expensive to render', () => {
  let world: World;
  const lines: { readonly msg: string; readonly template?: string }[] = [];
  before(async () => {
    const log = pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
    world = await startWorld({ config: config(endless), now: '2040-01-02T12:00:00Z', log, settings: { messages: 'log' } });
  });
  after(() => world.stop());

  const problems = async (): Promise<string[]> => {
    const found = (await read<{ problems: string[] }>(world, '/admin/v1/status')).problems;
    return found.filter((problem) => problem.includes('template'));
  };
  const outcomes = async (iso: string): Promise<string[]> => {
    await world.drain();
    await world.setClock(iso);
    await untilEnded(world);
    return (await sentMessages(world)).map(briefly).sort();
  };
  const refused = (user: string): string =>
    `reactivation email ${user} failed: The template "back" is switched off: it is too expensive to render (body).`;

  it('is refused by a preview', async () => {
    await identify(world, 'eva', { deviceTokens: [] });
    const reply = await world.request('POST', '/admin/v1/messages/preview', { body: { type: 'reactivation', userId: 'eva' } });
    expect(bodyOf<{ error: string }>(reply, 422).error).to.equal(
      'The template is too expensive to render (body): use fewer filters and loops.',
    );
    expect(await problems()).to.deep.equal([]);
    await world.request('DELETE', '/admin/v1/users/eva');
  });

  it('is switched off when a message is sent, for all users, and is a problem of the status', async () => {
    for (const user of ['ana', 'ben']) await identify(world, user, { deviceTokens: [] });
    expect(await outcomes('2040-01-03T09:00:00Z')).to.deep.equal([refused('ana'), refused('ben')]);
    expect(await problems()).to.deep.equal([
      'The template "back" of the tenant default is switched off: it is too expensive to render. Change it.',
    ]);
    expect(lines.filter(({ msg }) => msg.startsWith('template')).map(({ msg, template }) => `${msg} ${template}`)).to.deep.equal([
      'template switched off: it is too expensive to render back',
    ]);
  });

  it('fails later messages for the text that took too much', async () => {
    expect(await outcomes('2040-01-04T09:00:00Z')).to.include.members([refused('ana'), refused('ben')]);
    expect((await sentMessages(world)).map(briefly).filter((line) => line.includes('subject'))).to.deep.equal([]);
  });

  it('is used again once it is changed', async () => {
    await world.configure(config('We miss you, {{ user.id }}'));
    expect(await problems()).to.deep.equal([]);
    expect(await outcomes('2040-01-05T09:00:00Z')).to.include.members(['reactivation email ana', 'reactivation email ben']);
  });
});
