import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { countMessages } from '../../src/commands/messages.js';
import { configText, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  metrics: [{ key: 'm', name: 'M' }],
  settings: { recapFrequency: 'daily' },
  messages: { recap: ['email', 'push'], reactivation: ['push'] },
};

describe('laurel messages count', () => {
  let world: World;
  let context: Context;
  before(async () => {
    world = await startWorld({ config: configText(config), now: '2040-01-02T12:00:00Z' });
    context = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined });
    await track(world, 'm', { user: { id: 'ana', email: 'ana@example.com' }, value: 1 });
    await track(world, 'm', { user: { id: 'ben', email: 'ben@example.com', deviceTokens: ['ExponentPushToken[ben]'] }, value: 1 });
    await track(world, 'm', { user: { id: 'cleo', email: 'cleo@example.com', subscribeToEmails: false }, value: 1 });
    await track(world, 'm', { user: { id: 'dan' }, value: 1 });
    await world.setClock('2040-01-03T12:00:00Z');
  });
  after(async () => {
    await context.stop();
    await world.stop();
  });

  const counted = async (type: string, tenant?: string): Promise<string[]> => {
    const lines: string[] = [];
    await countMessages(context, (line) => lines.push(line), type, { tenant });
    return lines;
  };

  it('prints how many users a message would reach today, by channel, and that it sends nothing', async () => {
    const [email, push, last] = await counted('recap');
    expect([email, push]).to.deep.equal(['email  2', 'push   1']);
    expect(last).to.include('Nothing was sent.');
  });

  it('counts no channel that the configuration leaves out', async () => {
    expect((await counted('reactivation'))[0]).to.equal('email  0');
  });

  it('refuses unknown types and tenants, and names the types', async () => {
    const failure = (type: string, tenant?: string): Promise<string> =>
      counted(type, tenant).then(
        () => 'none',
        (error: unknown) => (error as Error).message,
      );
    expect(await failure('newsletter')).to.equal(
      'There is no message of the type "newsletter": the types are achievement_completed, recap, reactivation, streak_reminder.',
    );
    expect(await failure('recap', 'nowhere')).to.include('nowhere');
  });
});
