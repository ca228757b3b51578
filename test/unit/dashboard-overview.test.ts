import { expect } from 'chai';
import {
  dateAfter,
  firstEventCommand,
  lengthLabel,
  pointLines,
  rangeOf,
  todayOf,
  topLines,
  usedRanges,
  type AnalyticsDays,
} from '../../src/dashboard/page/screens/overview/analytics.js';

const trigger = (key: string, system: string, points: number[]): AnalyticsDays['triggers'][number] => ({
  id: key,
  key,
  name: key,
  archived: false,
  type: 'metric',
  system: { id: system, key: system, name: system },
  awards: points.map(() => 0),
  points,
});

const achievement = (name: string, completions: number[]): AnalyticsDays['achievements'][number] => ({
  id: name,
  key: name,
  name,
  archived: false,
  completions,
});

const analytics: AnalyticsDays = {
  from: '2026-02-28',
  until: '2026-03-01',
  days: ['2026-02-28', '2026-03-01'],
  events: [10, 12],
  activeUsers: [3, 4],
  activeUsers30: [20, 21],
  newUsers: [0, 2],
  metrics: [],
  triggers: [trigger('every-5', 'XP', [5, 10]), trigger('late', 'XP', [-100, 0]), trigger('unused', 'XP', [0, 0])],
  adjustments: [],
  achievements: [achievement('First', [1, 2]), achievement('Second', [0, 1])],
};

describe('The overview of the dashboard', () => {
  it('has the numbers of the newest day, and the events of the day before it', () => {
    expect(todayOf(analytics)).to.deep.equal({
      date: '2026-03-01',
      events: 12,
      eventsBefore: 10,
      activeUsers: 4,
      activeUsers30: 21,
      newUsers: 2,
      completions: 3,
    });
    expect(todayOf({ ...analytics, days: [] })).to.equal(undefined);
  });

  it('takes only known ranges from an address, and moves over months and years', () => {
    expect(['7', '90', '8', 'x', undefined].map(rangeOf)).to.deep.equal([7, 90, 30, 30, 30]);
    expect([dateAfter('2026-03-01', -1), dateAfter('2025-12-31', 1), dateAfter('2026-03-01', 0)]).to.deep.equal([
      '2026-02-28',
      '2026-01-01',
      '2026-03-01',
    ]);
  });

  it('shows the largest lines, deductions included, without those of zeros', () => {
    expect(pointLines(analytics).map(({ label }) => label)).to.deep.equal(['late', 'every-5']);
    const two = { ...analytics, triggers: [...analytics.triggers, trigger('win', 'Coins', [1, 0])] };
    expect(pointLines(two).map(({ label }) => label)).to.deep.equal(['XP: late', 'XP: every-5', 'Coins: win']);
  });

  it('joins what a chart has no line for, so that no points are missing', () => {
    const lines = Array.from({ length: 8 }, (_, at) => ({ label: String(at), values: [at + 1, 0] }));
    const shown = topLines(lines, 'Others');
    expect(shown.map(({ label }) => label)).to.deep.equal(['7', '6', '5', '4', 'Others']);
    expect(shown.at(-1)?.values).to.deep.equal([4 + 3 + 2 + 1, 0]);
    expect(topLines(lines.slice(0, 5), 'Others').length).to.equal(5);
  });

  it('names ranges of streak lengths, up to the longest that a user has', () => {
    const ranges = [
      { from: 1, to: 1, users: 2 },
      { from: 4, to: 6, users: 0 },
      { from: 7, to: 13, users: 1 },
      { from: 365, to: null, users: 0 },
    ];
    expect(ranges.map(lengthLabel)).to.deep.equal(['1', '4 to 6', '7 to 13', '365 or more']);
    expect(usedRanges(ranges).length).to.equal(3);
    expect(usedRanges([])).to.deep.equal([]);
  });

  it('shows a command that a shell passes on unchanged', () => {
    const command = firstEventCommand({ origin: 'https://laurel.example.com', metric: 'cards & more', tenant: "o'neill" });
    expect(command).to.equal(
      [
        "curl -s 'https://laurel.example.com/v1/metrics/cards%20%26%20more/event'",
        "-H 'X-API-KEY: YOUR-API-KEY'",
        "-H 'Content-Type: application/json'",
        String.raw`-H 'Tenant-ID: o'\''neill'`,
        `-d '{"user":{"id":"ana","name":"Ana"},"value":5}'`,
      ].join(' \\\n  '),
    );
    expect(firstEventCommand({ origin: 'http://127.0.0.1:8080', metric: 'cards', tenant: undefined })).not.to.include('Tenant-ID');
  });
});
