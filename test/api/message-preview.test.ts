import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { track, userPath } from '../support/answers.js';
import { runLaurel } from '../support/process.js';
import { type Stage, setStage } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

describe('laurel messages preview', () => {
  let stage: Stage;
  let world: World;
  let folder: string;
  before(async () => {
    stage = await setStage();
    world = await startWorld({ settings: { databaseUrl: stage.databaseUrl, redisPrefix: stage.env['REDIS_PREFIX']! } });
    folder = await mkdtemp(join(tmpdir(), 'laurel-preview-'));
    await world.request('PUT', userPath('ana'), { body: { name: 'Ana <b>', email: 'ana@example.com' } });
    await track(world, 'flashcards-viewed', { user: 'ana', value: 120 });
    await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: 'bare', name: 'Bare' }] });
    await world.request('PUT', userPath('carl'), { body: {}, headers: { 'tenant-id': 'bare' } });
  });
  after(async () => {
    await world.stop();
    await stage.stop();
    await rm(folder, { recursive: true });
  });

  const preview = (...args: string[]): ReturnType<typeof runLaurel> => runLaurel(['messages', 'preview', ...args], stage.env);

  it('writes the HTML, prints the rest, and sends nothing', async () => {
    const html = join(folder, 'achievement.html');
    const { code, output } = await preview('achievement_completed', '--user', 'ana', '--html', html);
    expect(code).to.equal(0);
    expect(output).to.match(/^Subject: You completed “First hundred”\n\nWell done, Ana <b>!\n/);
    expect(output).to.include('Push: Achievement completed\n').and.include(`The HTML is in ${html}. Nothing was sent.\n`);
    expect(await readFile(html, 'utf8'))
      .to.include('Well done, Ana &lt;b&gt;!')
      .and.include('https://example.invalid/unsubscribe');
    expect((await world.pool.query('select 1 from outbox')).rowCount).to.equal(0);
  });

  const refused: readonly (readonly [args: readonly string[], reason: string])[] = [
    [
      ['birthday', '--user', 'ana'],
      'There is no message of the type "birthday": the types are achievement_completed, recap, reactivation, streak_reminder.\n',
    ],
    [['recap', '--user', 'ben'], 'There is no user with the id "ben": identify the user with PUT first.\n'],
    [['recap', '--user', 'ana', '--tenant', 'none'], 'There is no tenant "none": name one by its id or its customerId.\n'],
    [['recap', '--user', 'ana', '--tenant', 'bare'], 'There is no user with the id "ana": identify the user with PUT first.\n'],
    [
      ['achievement_completed', '--user', 'carl', '--tenant', 'bare'],
      'There is no achievement in the configuration that a message could be about: add one, or preview another type.\n',
    ],
  ];
  for (const [args, reason] of refused) {
    it(`refuses ${args.join(' ')}`, async () => {
      const { code, output, log } = await preview(...args, '--html', join(folder, 'refused.html'));
      expect([code, output, log]).to.deep.equal([1, '', reason]);
    });
  }

  it('refuses a file that it cannot write to', async () => {
    const { code, log } = await preview('recap', '--user', 'ana', '--html', join(folder, 'none', 'recap.html'));
    expect(code).to.equal(1);
    expect(log).to.match(/^The preview can't be written to .*recap\.html: ENOENT/);
  });
});
