import { expect } from 'chai';
import { Clock } from '../../src/engine/clock.js';
import { bodyOf, read, track } from './answers.js';
import type { Random } from './random.js';
import { noteCompletions, renameRecorded } from './recorded-rows.js';
import type { World } from './world.js';

const trigger = { type: 'metric', status: 'active' } as const;
const achievement = { trigger: 'metric', status: 'active' } as const;
/** `backfilled` becomes active halfway, and completes for users who qualified before. */
export const configWith = (backfilled: 'active' | 'inactive'): string =>
  JSON.stringify({
    settings: { controlRatio: 0.3 },
    metrics: ['cards', 'minutes', 'rare'].map((key) => ({ key, name: key })),
    points: [
      {
        key: 'xp',
        name: 'XP',
        maxPoints: 500,
        triggers: [
          { ...trigger, key: 'cards', metricKey: 'cards', metricThreshold: 4, points: 3 },
          { ...trigger, key: 'fine', metricKey: 'minutes', metricThreshold: 7, points: -2 },
          { key: 'streak', type: 'streak', streakLength: 2, points: 5, status: 'active' },
          { key: 'welcome', type: 'user_creation', points: 10, status: 'active' },
        ],
      },
      {
        key: 'gems',
        name: 'Gems',
        triggers: [{ key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' }],
      },
    ],
    achievements: [
      { ...achievement, key: 'ten', name: 'Ten', metricKey: 'cards', metricValue: 10 },
      { ...achievement, key: 'more', name: 'More', metricKey: 'minutes', metricValue: 25.5 },
      { ...achievement, key: 'backfilled', name: 'Backfilled', metricKey: 'cards', metricValue: 15, status: backfilled },
      { key: 'three', name: 'Three', trigger: 'streak', streakLength: 3, status: 'active' },
      { key: 'by-hand', name: 'By hand', trigger: 'api', status: 'active' },
    ],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }], freezes: { initial: 1, maximum: 2 } },
  });

/** Across the date line, with clocks that change on different days, one of them by half an hour. */
const zones = [
  'Pacific/Kiritimati',
  'Pacific/Honolulu',
  'America/New_York',
  'Europe/Lisbon',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
] as const;
export const users = ['ana', 'bo', 'carl', 'dee', 'eve', 'flo', 'gus'] as const;
const [hourMs, dayMs] = [3_600_000, 86_400_000];
/** The value that Postgres refuses for a while. Its metric completes nothing, so no completion waits in a dead letter. */
export const poison = 666;
const steps = 220;
export const start = '2040-02-27T12:00:00.000Z';

/** Every seventh write of counts loses its connection: the transaction is gone when all of it but the commit has been done. */
export const loseConnections = `
  create sequence writes;
  create function lose_connection() returns trigger language plpgsql as
  $$ begin
    if nextval('writes') % 7 = 0 then perform pg_terminate_backend(pg_backend_pid()); end if;
    return null;
  end $$;
  create trigger lose before insert on analytics_days for each statement execute function lose_connection();`;

/** A random life of a few users, one action at a time. */
export class Life {
  private readonly world: World;
  private readonly random: Random;
  private nowMs = Date.parse(start);
  private deletions = 0;
  private isPoisonRefused = false;
  private readonly zoneOf = new Map<string, string>();

  constructor(world: World, random: Random) {
    this.world = world;
    this.random = random;
  }

  get today(): number {
    return Math.floor(this.nowMs / dayMs);
  }

  async play(): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.wait();
      if (step === steps / 2) await this.world.configure(configWith('active'));
      await this.act();
    }
    await this.extendStreaks();
    await this.acceptPoison();
    await this.world.drain();
    for (const user of users) await this.noteCompletions(user);
  }

  private async wait(): Promise<void> {
    const { random } = this;
    const longest = random.pick([hourMs, hourMs, 8 * hourMs, 30 * hourMs, random.chance(0.15) ? 40 * dayMs : 2 * dayMs]);
    this.nowMs += 1_000 + random.below(longest);
    // Without a sweep, a later call settles what was due before: its awards are of earlier days.
    if (random.chance(0.4)) await new Clock(this.world.engine, true).set(this.world.tenant, this.nowMs);
    else await this.world.setClock(new Date(this.nowMs).toISOString());
  }

  private async act(): Promise<void> {
    const { random, world } = this;
    const user = random.pick(users);
    const dice = random.next();
    if (dice < 0.05) await this.goWest(user);
    else if (dice < 0.1) await this.move(user, random.pick(zones), random.chance(0.5));
    else if (dice < 0.14) await this.delete(user);
    else if (dice < 0.2) await this.sendPoison(user);
    else if (dice < 0.24) await this.acceptPoison();
    else if (dice < 0.3) await world.request('POST', '/v1/achievements/by-hand/complete', { body: { user: { id: user } } });
    else if (dice < 0.34) await world.drain();
    else for (let count = 1 + random.below(3); count > 0; count -= 1) await this.event(random.chance(0.7) ? user : random.pick(users));
  }

  /** Ends the life with streaks of several lengths. */
  private async extendStreaks(): Promise<void> {
    for (let days = 1; days <= 3; days += 1) {
      this.nowMs += dayMs;
      await this.world.setClock(new Date(this.nowMs).toISOString());
      for (const user of users.slice(0, days)) await track(this.world, 'cards', { user, value: 10 });
    }
  }

  private async event(user: string): Promise<void> {
    const metric = this.random.pick(['cards', 'cards', 'minutes', 'rare']);
    await track(this.world, metric, { user, value: (this.random.below(120) - 20) / (metric === 'cards' ? 10 : 100) });
  }

  /** Changes the zone, with an event or without one. */
  private async move(user: string, tz: string, withEvent: boolean): Promise<void> {
    await this.world.drain();
    await this.noteCompletions(user);
    this.zoneOf.set(user, tz);
    if (withEvent) await track(this.world, 'minutes', { user: { id: user, tz }, value: 1.25 });
    else bodyOf(await this.world.request('PUT', `/v1/users/${user}`, { body: { tz } }), 200);
  }

  /** Returns to a day that was over. */
  private async goWest(user: string): Promise<void> {
    await this.move(user, zones[0], true);
    await this.move(user, zones[1], true);
  }

  private async delete(user: string): Promise<void> {
    await this.world.drain();
    await this.noteCompletions(user);
    const { status } = await this.world.request('DELETE', `/admin/v1/users/${user}`);
    expect(status).to.be.oneOf([200, 404]);
    this.deletions += 1;
    await renameRecorded(this.world.pool, user, `${user}, ${this.deletions}`);
    this.zoneOf.delete(user);
  }

  private noteCompletions(user: string): Promise<void> {
    return noteCompletions(this.world.pool, user, this.zoneOf.get(user) ?? 'UTC');
  }

  /** An event that becomes a dead letter. */
  private async sendPoison(user: string): Promise<void> {
    await this.world.drain();
    if (!this.isPoisonRefused)
      await this.world.pool.query(`alter table events add constraint no_poison check (value <> ${poison}) not valid`);
    this.isPoisonRefused = true;
    await track(this.world, 'rare', { user, value: poison });
    await this.world.drain();
  }

  /** Writes the dead letters, behind newer entries. */
  private async acceptPoison(): Promise<void> {
    await this.world.drain();
    if (this.isPoisonRefused) await this.world.pool.query('alter table events drop constraint no_poison');
    this.isPoisonRefused = false;
    while (true) {
      const letters = await read<{ id: string }[]>(this.world, '/admin/v1/dead-letters?limit=100');
      if (letters.length === 0) return;
      for (const { id } of letters) await this.world.request('POST', `/admin/v1/dead-letters/${id}/retry`);
    }
  }
}
