import { createHash } from 'node:crypto';
import { Packr } from 'msgpackr';
import { weekShiftOf, dayMs } from '../shared/calendar.js';
import type { Achievement, AttributeFilter, ConfigDocument, ConfigVersion } from '../config/schema/model.js';
import { partsOf } from '../config/check/parts.js';
import { estimateWork } from '../config/check/work.js';
import { limits } from '../shared/limits.js';
import { userRecords } from '../redis/contract.js';
import { definitionOf } from './activation.js';
import { compileBoard, isBrokenDown, type PlanBoard } from './boards.js';
import {
  type PlanFilter,
  type PlanSystem,
  type PlanTimeTrigger,
  type References,
  compileSystem,
  compileTimeTriggers,
  filtersUsers,
  live,
} from './points.js';

interface PlanAchievement {
  readonly no: number;
  readonly key: string;
  readonly kind: Achievement['trigger'];
  readonly active: boolean;
  readonly user: readonly PlanFilter[];
  readonly metric?: number;
  readonly value?: number;
  /** The record of what a metric achievement counts: the metric's total or, with filters, the sum of the events that match. */
  readonly record?: string;
  readonly isSummed?: boolean;
  readonly event?: readonly PlanFilter[];
  readonly length?: number;
  readonly years?: number;
  readonly needs: readonly string[];
  /** The composites that need it. */
  readonly neededBy: readonly string[];
}

interface PlanMetric {
  readonly no: number;
  readonly key: string;
  readonly record: string;
  /** The records that an event on it is known to need, the core first. */
  readonly records: readonly string[];
  /** The systems with triggers on the metric, each with those triggers alone. */
  readonly systems: readonly Pick<PlanSystem, 'at' | 'triggers'>[];
  /** The metric achievements, in the order of the configuration; `summed` are those with filters, which have a sum of their own. */
  readonly counted: readonly PlanAchievement[];
  readonly summed: readonly PlanAchievement[];
  readonly boards: readonly PlanBoard[];
}

interface PlanStreaks {
  readonly frequency: string;
  readonly mode: string;
  readonly metrics: readonly { readonly key: string; readonly threshold: number }[];
  /** The metrics of the conditions, as text. */
  readonly counted: Readonly<Record<string, boolean>>;
  readonly freezes: { readonly initial: number; readonly maximum: number; readonly interval: number; readonly amount: number };
  readonly personal: boolean;
  /** Absent for none. */
  readonly daysOff?: readonly number[];
}

/**
 * What the function library runs: a configuration with every name resolved to a record of the user's hash, so that an event needs one
 * HMGET of a list that is ready. Objects are keyed by their `no`, as text.
 */
interface Plan {
  readonly controlRatio: number;
  /** What is added to a day before it is divided by 7, so that weeks begin on the configured day. */
  readonly weekShift: number;
  /** The time zone of users who have none of their own. */
  readonly zone: string;
  /** How long an idempotency key counts, in milliseconds; absent for ever. */
  readonly keyLifeMs?: number;
  /** The records that every call about a user is known to need, the core first. */
  readonly records: readonly string[];
  readonly metrics: Readonly<Record<string, PlanMetric>>;
  readonly systems: readonly PlanSystem[];
  /** `system` is the position in `systems`, from 1. */
  readonly timeTriggers: readonly { readonly system: number; readonly trigger: PlanTimeTrigger }[];
  readonly achievements: Readonly<Record<string, PlanAchievement>>;
  readonly streakAchievements: readonly string[];
  /** The active ones. */
  readonly anniversaries: readonly string[];
  readonly streaks?: PlanStreaks;
  /** Whether time alone does something to users. */
  readonly isTimed: boolean;
  /** Stands for what time does to users: when it changes, a segment of time ends (lua/modules/segments.lua). */
  readonly time: string;
  /** Hours of a user's time that one call settles, and what that takes by config/check/work.ts: for the user, and for each award of a time trigger. */
  readonly settleHours: number;
  readonly settleWorkUs: number;
  readonly timeAwardWorkUs: number;
  readonly boards: Readonly<Record<string, PlanBoard>>;
  readonly streakBoards: readonly PlanBoard[];
  readonly brokenDown: readonly PlanBoard[];
}

/** An anniversary achievement that users can complete. */
const isAnniversary = ({ kind, active }: PlanAchievement): boolean => kind === 'anniversary' && active;

const byNo = <T extends { readonly no: number }>(objects: readonly T[]): Record<string, T> =>
  Object.fromEntries(objects.map((object) => [String(object.no), object]));

/** What settling looks at of leaderboards that it enters users on: all but how many have a rank. */
const enteredBoards = (boards: readonly PlanBoard[]): unknown => boards.map(({ max: _, lastPlace: __, ...board }) => board);

/** What passing time does to streaks, and what an activation does to them at its moment. */
const timeOfStreaks = (streaks: PlanStreaks | undefined, boards: readonly PlanBoard[]): unknown =>
  streaks
    ? [streaks.frequency, streaks.mode, streaks.metrics, streaks.freezes, streaks.daysOff, streaks.personal, enteredBoards(boards)]
    : null;

/** What passing time does to points. */
const timeOfPoints = (systems: readonly PlanSystem[], triggers: Plan['timeTriggers']): unknown =>
  systems.flatMap(({ at, no, cap, boosts, ownBoosts, boards }) => {
    const own = triggers.filter(({ system }) => system === at).map(({ trigger }) => trigger);
    return own.length === 0 ? [] : [[no, cap, own, boosts, [...ownBoosts], enteredBoards(boards)]];
  });

/** What anniversaries complete, and what that earns; nothing without anniversaries. */
function timeOfAnniversaries(achievements: readonly PlanAchievement[], systems: readonly PlanSystem[]): readonly unknown[] {
  if (!achievements.some(isAnniversary)) return [];
  const completed = achievements
    .filter((achievement) => isAnniversary(achievement) || achievement.kind === 'achievement')
    .map(({ no, active, user, years, needs }) => [no, active, user, years, needs]);
  const earned = systems.flatMap(({ no, cap, triggers, boosts, ownBoosts, boards }) => {
    const own = triggers.filter(({ kind }) => kind === 'achievement');
    return own.length === 0 ? [] : [[no, cap, own, boosts, [...ownBoosts], enteredBoards(boards)]];
  });
  return [completed, earned];
}

/** Compiles one tenant's configuration. The document has passed config/check/validate.ts: a reference that leads nowhere is a fault of ours. */
class Compiler implements References {
  private readonly document: ConfigDocument;
  private readonly numbers: ReadonlyMap<string, number>;
  readonly boards: readonly PlanBoard[];

  constructor(document: ConfigDocument) {
    this.document = document;
    const objects = [document.attributes, document.metrics, document.pointsSystems, document.achievements].flat();
    this.numbers = new Map(objects.map(({ id, no }) => [id, no]));
    this.boards = live(document.leaderboards)
      .filter(({ status }) => status === 'active')
      .map((board) => compileBoard(board, (id) => this.resolve(id)));
  }

  compile(): Plan {
    const { settings } = this.document;
    const systems = live(this.document.pointsSystems);
    const compiled = systems.map((system, index) => compileSystem(system, index + 1, this));
    const timeTriggers = systems.flatMap((system, index) =>
      compileTimeTriggers(system, this).map((trigger) => ({ system: index + 1, trigger })),
    );
    const achievements = this.achievements();
    const streaks = this.streaks();
    const anniversaries = achievements.filter(isAnniversary).map(({ key }) => key);
    const isTimed = streaks !== undefined || timeTriggers.length > 0 || anniversaries.length > 0;
    const streakBoards = this.boards.filter(({ isStreak }) => isStreak);
    const weekShift = weekShiftOf(settings);
    return {
      controlRatio: settings.controlRatio,
      weekShift,
      zone: settings.defaultTimeZone,
      ...(settings.idempotencyRetentionDays === null ? {} : { keyLifeMs: settings.idempotencyRetentionDays * dayMs }),
      records: [userRecords.core, ...(isTimed ? [userRecords.due] : [])],
      metrics: byNo(live(this.document.metrics).map(({ no }) => this.metric(no, { systems: compiled, achievements }))),
      systems: compiled,
      timeTriggers,
      achievements: byNo(achievements),
      streakAchievements: achievements.filter(({ kind }) => kind === 'streak').map(({ key }) => key),
      anniversaries,
      ...(streaks ? { streaks } : {}),
      isTimed,
      time: definitionOf([
        weekShift,
        settings.defaultTimeZone,
        timeOfStreaks(streaks, streakBoards),
        timeOfPoints(compiled, timeTriggers),
        ...timeOfAnniversaries(achievements, compiled),
      ]),
      ...this.settleWork(timeTriggers.length),
      boards: byNo(this.boards),
      streakBoards,
      brokenDown: this.boards.filter(isBrokenDown),
    };
  }

  private metric(no: number, all: Pick<Plan, 'systems'> & { achievements: readonly PlanAchievement[] }): PlanMetric {
    const record = `${userRecords.metric}${no}`;
    const own = all.systems.flatMap((system) => {
      const triggers = system.triggers.filter(({ metric }) => metric === no);
      return triggers.length > 0 ? [{ ...system, triggers }] : [];
    });
    const counted = all.achievements.filter(({ metric }) => metric === no);
    const boards = this.boards.filter((board) => board.record === record);
    const looksAtAttributes = [own.some(filtersUsers), counted.some(({ user }) => user.length > 0), boards.some(isBrokenDown)].includes(
      true,
    );
    return {
      no,
      key: String(no),
      record,
      records: [
        userRecords.core,
        record,
        ...own.map((system) => system.record),
        ...(counted.length > 0 ? [userRecords.achievements] : []),
        ...(looksAtAttributes ? [userRecords.attributes] : []),
      ],
      systems: own.map(({ at, triggers }) => ({ at, triggers })),
      counted,
      summed: counted.filter(({ isSummed }) => isSummed),
      boards,
    };
  }

  private achievements(): PlanAchievement[] {
    // Those that are not active yet count their events already.
    const all = live(this.document.achievements);
    const neededBy = new Map<string, string[]>(all.map(({ id }) => [id, []]));
    for (const other of all) {
      if (other.trigger === 'achievement') for (const id of other.achievementIds) neededBy.get(id)?.push(String(other.no));
    }
    return all.map((achievement) => ({
      no: achievement.no,
      key: String(achievement.no),
      kind: achievement.trigger,
      active: achievement.status === 'active',
      user: this.filters(achievement.userAttributes),
      ...this.achievementCount(achievement),
      needs: achievement.trigger === 'achievement' ? achievement.achievementIds.map((id) => String(this.resolve(id))) : [],
      neededBy: neededBy.get(achievement.id) ?? [],
    }));
  }

  private achievementCount(achievement: Achievement): Partial<PlanAchievement> {
    if (achievement.trigger === 'streak') return { length: achievement.streakLength };
    if (achievement.trigger === 'anniversary') return { years: achievement.anniversaryYears };
    if (achievement.trigger !== 'metric') return {};
    const filtered = achievement.eventAttributes.length > 0;
    const metric = this.resolve(achievement.metricId);
    return {
      metric,
      value: achievement.metricValue,
      record: `${userRecords.metric}${metric}`,
      ...(filtered ? { isSummed: true, event: this.filters(achievement.eventAttributes) } : {}),
    };
  }

  private settleWork(timeTriggers: number): Pick<Plan, 'settleHours' | 'settleWorkUs' | 'timeAwardWorkUs'> {
    const { settle, timeTriggersUs } = estimateWork(partsOf(this.document));
    const settleWorkUs = settle.us - timeTriggersUs;
    const hours = timeTriggersUs > 0 ? Math.floor((limits.maxSettleWorkUs - settleWorkUs) / timeTriggersUs) : limits.maxSettleHours;
    return {
      settleHours: Math.max(Math.min(hours, limits.maxSettleHours), 1),
      settleWorkUs,
      timeAwardWorkUs: timeTriggers > 0 ? timeTriggersUs / timeTriggers : 0,
    };
  }

  private streaks(): PlanStreaks | undefined {
    const { enabled, frequency, evaluationMode, metrics, freezes, daysOff, personalization } = this.document.streaks;
    if (!enabled) return undefined;
    const conditions = metrics.map(({ metricId, threshold }) => ({ key: String(this.resolve(metricId)), threshold }));
    return {
      frequency,
      mode: evaluationMode,
      metrics: conditions,
      counted: Object.fromEntries(conditions.map(({ key }) => [key, true])),
      freezes: { initial: freezes.initial, maximum: freezes.maximum, interval: freezes.earnInterval, amount: freezes.earnAmount },
      personal: personalization,
      ...(daysOff.length > 0 ? { daysOff } : {}),
    };
  }

  filters(filters: readonly AttributeFilter[]): PlanFilter[] {
    return filters.map(({ attributeId, attributeValue }) => ({ no: String(this.resolve(attributeId)), value: attributeValue }));
  }

  resolve(id: string): number {
    const no = this.numbers.get(id);
    if (no === undefined) throw new Error(`the configuration refers to ${id}, which validation should have refused`);
    return no;
  }
}

/** A plan, packed for Redis, and the hash under which it is kept there. */
export interface CompiledPlan {
  readonly version: number;
  readonly hash: string;
  readonly blob: Buffer;
  /** `time` of the plan. */
  readonly time: string;
}

const packr = new Packr({ useRecords: false });

/** Compiles a configuration version into the plan that the function library runs. */
export function compilePlan({ document, version }: ConfigVersion): CompiledPlan {
  const plan = new Compiler(document).compile();
  const blob = packr.pack(plan);
  return { version, hash: createHash('sha256').update(blob).digest('hex').slice(0, 24), blob, time: plan.time };
}
