import { expect } from 'chai';
import { configText, read, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const config = configText({
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily', evaluationMode: 'OR', metrics: [{ metricKey: 'm', threshold: 1 }] },
});

/** Who was there on which days, from 2040-01-02 on; the rankings are read at noon of the sixth day, 2040-01-07. */
const lives: Readonly<Record<string, string>> = {
  ana: 'xxx...',
  ben: '...xxx',
  cem: '..xxxx',
  dia: '..xxxx',
  eve: 'xxxxx.',
  fay: '......',
};

const expected: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  // Eve can still go on today. Cem reached 4 before Dia did.
  'type=active': [
    ['eve', 5],
    ['cem', 4],
    ['dia', 4],
    ['ben', 3],
  ],
  'type=longest': [
    ['eve', 5],
    ['cem', 4],
    ['dia', 4],
    ['ana', 3],
    ['ben', 3],
  ],
  'type=longest&limit=2': [
    ['eve', 5],
    ['cem', 4],
  ],
  '': [
    ['eve', 5],
    ['cem', 4],
    ['dia', 4],
    ['ben', 3],
  ],
};

describe('The streak ranking of all users', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config });
    for (const id of Object.keys(lives)) await world.request('PUT', `/v1/users/${id}`, { body: { name: id.toUpperCase() } });
    for (let day = 0; day < 6; day += 1) {
      await world.setClock(`2040-01-0${day + 2}T12:00:00Z`);
      for (const [id, days] of Object.entries(lives)) if (days[day] === 'x') await track(world, 'm', { user: { id }, value: 1 });
    }
  });
  after(() => world.stop());

  for (const [query, rankings] of Object.entries(expected)) {
    it(`${query || 'without a query'}: ${rankings.map(([id, length]) => `${id} ${length}`).join(', ')}`, async () => {
      const answer = await read<{ userId: string; name: string; streakLength: number }[]>(world, `/v1/streaks/rankings?${query}`);
      expect(answer).to.deep.equal(rankings.map(([userId, streakLength]) => ({ userId, name: userId.toUpperCase(), streakLength })));
    });
  }

  for (const query of ['limit=0', 'limit=101', 'limit=x', 'type=best']) {
    it(`${query} is refused`, async () => expect((await world.request('GET', `/v1/streaks/rankings?${query}`)).status).to.equal(422));
  }
});
