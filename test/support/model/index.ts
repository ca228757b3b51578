/**
 * The model: what docs/rules says about what an event, a call, a configuration change or the passing of time does to
 * a user, in plain TypeScript. It shares no code with the engine (types of the configuration document apart), keeps everything in memory
 * and takes the shortest way to say what is meant; test/unit/model.self.test.ts holds it against examples that were worked out by hand.
 */
import type { ConfigDocument, Leaderboard } from '../../../src/config/schema/model.js';
import * as achievements from './achievements.js';
import * as calls from './calls.js';
import { shown } from './decimal.js';
import { boardsBody, finalBody, placeBody, rankingsBody, type Page } from './leaderboard-answers.js';
import { enterChanges, leaveForGood } from './leaderboards.js';
import { levelsBody, pointsBody } from './points-answers.js';
import { isOpen } from './runs.js';
import { reconfigure, settleStored, sweep } from './settle.js';
import { rankedStreaks, userStreakBody } from './streak-answers.js';
import * as streaks from './streaks.js';
import type { Adjustment, EventRequest, IdentifyMode, Operations, StreakPreferences } from './subject.js';
import { dateOf, dayOf } from './time.js';
import {
  knownUser,
  localDayOf,
  tokensWithout,
  userBody,
  withoutBoostsOf,
  type User,
  type UserInCall,
  type UserProperties,
} from './users.js';
import { byKey, live, Refused, type Answer, type World } from './world.js';

const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(dayOf(text)) && dateOf(dayOf(text)) === text;

export class Model implements Operations {
  private readonly world: World;
  private pausesMade = 0;

  /** The ids for which a boost is, or was in an earlier configuration: they can be deleted, users or not. */
  private readonly named = new Set<string>();

  constructor(config: ConfigDocument, nowMs: number) {
    this.noteNamed(config);
    this.world = { config, now: nowMs, sequence: 0, users: new Map(), boards: new Map(), events: new Map() };
    // Boards whose start has come are filled before there is a user.
    sweep(this.world, nowMs);
  }

  setNow(ms: number): void {
    if (ms < this.world.now) throw new Error('the clock only goes forward');
    sweep(this.world, ms);
  }

  /** What time does to a user does not depend on when it is looked at. */
  drift(ms: number): void {
    this.setNow(ms);
  }

  private noteNamed({ pointsSystems }: ConfigDocument): void {
    for (const { boosts } of pointsSystems) for (const { userId } of boosts) if (userId !== null) this.named.add(userId);
  }

  configure(document: ConfigDocument): void {
    this.noteNamed(document);
    reconfigure(this.world, document);
  }

  activate(document: ConfigDocument): void {
    this.configure(document);
  }

  event(request: EventRequest): Answer {
    return this.answer(() => calls.event(this.world, request));
  }

  identify(mode: IdentifyMode, id: string, properties: UserProperties): Answer {
    return this.answer(() => calls.identify(this.world, mode, { ...properties, id }));
  }

  completeAchievement(key: string, user: UserInCall): Answer {
    return this.answer(() => calls.completeAchievement(this.world, key, user));
  }

  setStreakPreferences(userId: string, preferences: StreakPreferences): Answer {
    return this.answer(() => {
      if ('enabled' in preferences) {
        this.settled(userId).hasStreaks = preferences.enabled;
        return { status: 200 };
      }
      if (!this.world.config.streaks.personalization) throw new Refused(403, 'users have no conditions of their own');
      if ('daysOff' in preferences) {
        const { daysOff } = preferences;
        if (daysOff.length > 0 && this.world.config.streaks.frequency !== 'daily')
          throw new Refused(422, 'only daily streaks have days off');
        this.settled(userId).daysOff = daysOff;
        return { status: 200 };
      }
      const { evaluationMode, metrics } = preferences;
      const known = metrics.map(({ key, threshold }) => {
        const metric = live(this.world.config.metrics).find((candidate) => candidate.key === key);
        if (!metric) throw new Refused(422, `there is no metric ${key}`);
        return { metricId: metric.id, threshold };
      });
      this.settled(userId).personal = { evaluationMode, metrics: known };
      return { status: 200 };
    });
  }

  removeDeviceToken(userId: string, token: string): Answer {
    return this.answer(() => {
      if (!this.world.users.has(userId)) return { status: 200, body: false };
      const user = this.settled(userId);
      const kept = tokensWithout(user.deviceTokens, [token]);
      if (!kept) return { status: 200, body: false };
      Object.assign(user, { deviceTokens: kept, updated: this.world.now });
      return { status: 200, body: true };
    });
  }

  grantFreeze(userId: string): Answer {
    return this.administer(userId, (user) => {
      streaks.grant(this.world, user);
    });
  }

  takeFreeze(userId: string): Answer {
    return this.administer(userId, (user) => {
      streaks.take(this.world, user);
    });
  }

  createPause(userId: string, start: string, end: string): Answer {
    return this.administer(userId, (user) => {
      if (!isDate(start) || !isDate(end) || end < start) throw new Refused(422, 'a pause ends on or after the day on which it starts');
      this.pausesMade += 1;
      const pauseId = `pause-${this.pausesMade}`;
      streaks.pause(user, { id: pauseId, start, end }, dateOf(localDayOf(user, this.world.now)));
      return { pauseId, start, end };
    });
  }

  deletePause(pauseId: string): Answer {
    const owner = [...this.world.users.values()].find(({ pauses }) => pauses.some(({ id }) => id === pauseId));
    return this.administer(owner?.id ?? '', ({ pauses }) => {
      pauses.splice(
        pauses.findIndex(({ id }) => id === pauseId),
        1,
      );
    });
  }

  restoreStreak(userId: string): Answer {
    return this.administer(userId, (user) => {
      enterChanges(this.world, user, streaks.restore(this.world, user));
    });
  }

  resetStreak(userId: string): Answer {
    return this.administer(userId, (user) => {
      enterChanges(this.world, user, [streaks.reset(this.world, user)]);
    });
  }

  adjustPoints(userId: string, key: string, adjustment: Adjustment): Answer {
    return this.answer(() => {
      const system = byKey(this.world.config.pointsSystems, key);
      return this.administer(userId, (user) => calls.adjustPoints(this.world, user, system, adjustment));
    });
  }

  correctEvent(userId: string, eventId: string): Answer {
    return this.answer(() => calls.correct(this.world, userId, eventId));
  }

  deleteUser(id: string): Answer {
    return this.answer(() => {
      const isNamed = this.named.delete(id);
      if (this.world.users.has(id) || !isNamed) {
        // What was due happens first, to the others on the boards too.
        this.settled(id);
        this.world.users.delete(id);
        this.forgetEvents(id);
        leaveForGood(this.world, id);
      }
      this.world.config = withoutBoostsOf(this.world.config, id);
      return { status: 200 };
    });
  }

  /** The events of a deleted user: a later user with the same id has others. Their ids are not given again. */
  private forgetEvents(id: string): void {
    for (const [eventId, event] of this.world.events) if (event.userId === id) this.world.events.set(eventId, { ...event, userId: '' });
  }

  user(id: string): Answer {
    return this.read(() => userBody(this.world, this.settled(id)));
  }

  metrics(id: string): Answer {
    return this.read(() => {
      const user = this.settled(id);
      return live(this.world.config.metrics).map((metric) => ({
        ...{ id: metric.id, key: metric.key, name: metric.name, status: 'active' },
        current: shown(user.totals.get(metric.id) ?? 0n),
        achievements: achievements.metricAchievementsBody(this.world, user, metric.id),
      }));
    });
  }

  points(id: string, key: string, awards: number): Answer {
    return this.read(() => pointsBody(this.world, this.settled(id), byKey(this.world.config.pointsSystems, key), awards));
  }

  levels(key: string): Answer {
    return this.read(() => levelsBody(this.world, byKey(this.world.config.pointsSystems, key)));
  }

  achievements(id: string, includeIncomplete: boolean): Answer {
    return this.read(() => achievements.userAchievementsBody(this.world, this.settled(id), includeIncomplete));
  }

  allAchievements(): Answer {
    return this.read(() => achievements.allAchievementsBody(this.world));
  }

  streak(id: string, historyPeriods: number): Answer {
    return this.read(() => userStreakBody(this.world, this.settled(id), historyPeriods));
  }

  streaks(ids: readonly string[]): Answer {
    return this.read(() => rankedStreaks(this.world, ids));
  }

  webhooks(id: string): Answer {
    return this.read(() => {
      const keys = new Map<string | number, string>(this.world.config.achievements.map((one) => [one.id, one.key]));
      return this.settled(id).webhooks.map(({ kind, about }) => ({ kind, about: keys.get(about) ?? about }));
    });
  }

  leaderboards(includeFinished: boolean): Answer {
    return this.read(() => boardsBody(this.world, includeFinished));
  }

  leaderboard(key: string, page: Page): Answer {
    return this.read(() => rankingsBody(this.world, this.board(key), page));
  }

  userLeaderboard(id: string, key: string, run?: string): Answer {
    return this.read(() => {
      const board = this.board(key);
      return placeBody(this.world, board, this.settled(id), run);
    });
  }

  finalRankings(key: string, run: string): Answer {
    return this.read(() => finalBody(this.world, this.board(key), run));
  }

  /** A board that users can see: an inactive one is as good as absent. */
  private board(key: string): Leaderboard {
    return byKey(this.world.config.leaderboards.filter(isOpen), key);
  }

  /** The user of a read, settled; a 404 for an unknown one. */
  private settled(id: string): User {
    const user = knownUser(this.world, id);
    settleStored(this.world, user, this.world.now);
    return user;
  }

  private read(body: () => unknown): Answer {
    return this.answer(() => ({ status: 200, body: body() }));
  }

  /** A call of the Admin API about one user, settled first. Its issues are a 422. */
  private administer(userId: string, act: (user: User) => unknown): Answer {
    const user = this.world.users.get(userId);
    if (!user) return { status: 422 };
    settleStored(this.world, user, this.world.now);
    return this.answer(() => {
      const body = act(user);
      return body === undefined ? { status: 200 } : { status: 200, body };
    });
  }

  private answer(act: () => Answer): Answer {
    try {
      return act();
    } catch (error) {
      if (error instanceof Refused) return { status: error.status };
      throw error;
    }
  }
}
