import { expect } from 'chai';
import { planStory, type Story, storyDays } from '../../src/app/commands/demo/story.js';

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
