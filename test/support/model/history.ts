/** Histories: what callers, operators and time do, step by step, run on the model and on something that must answer the same. */
import { emptyConfig, type ConfigDocument } from '../../../src/config/schema/model.js';
import { baseMs } from './documents.js';
import { applyEdit, type Edit } from './edits.js';
import { pauseDates, resolveJump, type Jump } from './jumps.js';
import { allReads, askOf, type Ask, type Read } from './reads.js';
import {
  differences,
  normalise,
  type EventRequest,
  type IdentifyMode,
  type Operations,
  type StreakPreferences,
  type Subject,
} from './subject.js';
import { dayMs, dayOf, hourMs } from './time.js';
import { withoutBoostsOf, type UserInCall, type UserProperties } from './users.js';
import type { Answer } from './world.js';

/** A change of the configuration, and who is read just before and just after. */
interface Version {
  readonly before: readonly string[];
  readonly edits: readonly Edit[];
  readonly after: readonly string[];
}

/** A part of a lapse. */
interface Stage extends Version {
  readonly jump: Jump;
  readonly during: readonly Step[];
}

export type Step =
  | ({ readonly do: 'event' } & EventRequest)
  /** Sends one of the events that had an idempotency key again, with another value. */
  | { readonly do: 'replay'; readonly nth: number; readonly value: number }
  /** Some days in a row, from one midnight of a zone to the next: at a time of day, an event of each user. */
  | {
      readonly do: 'routine';
      readonly userIds: readonly string[];
      readonly metricKey: string;
      readonly value: number;
      readonly zone: string;
      readonly days: number;
    }
  /** A user moves to a zone, stays some hours, sends an event unless the value is null, and moves on. */
  | {
      readonly do: 'travel';
      readonly userId: string;
      readonly metricKey: string;
      readonly hops: readonly { readonly zone: string; readonly hours: number; readonly value: number | null }[];
    }
  | { readonly do: 'identify'; readonly mode: IdentifyMode; readonly id: string; readonly properties: UserProperties }
  | { readonly do: 'complete'; readonly key: string; readonly user: UserInCall }
  | { readonly do: 'preferences'; readonly userId: string; readonly preferences: StreakPreferences }
  | { readonly do: 'removeToken'; readonly userId: string; readonly token: string }
  /** The clock moves, and then a board is looked at unless it is null. */
  | { readonly do: 'clock'; readonly jump: Jump; readonly look: number | null }
  | { readonly do: 'freeze'; readonly userId: string }
  | { readonly do: 'takeFreeze'; readonly userId: string }
  | { readonly do: 'pause'; readonly userId: string; readonly startsInDays: number; readonly lastsDays: number }
  | { readonly do: 'deletePause'; readonly nth: number }
  | { readonly do: 'restore'; readonly userId: string }
  /** `isUndone`: a restore follows at once. */
  | { readonly do: 'reset'; readonly userId: string; readonly isUndone: boolean }
  /** Takes back one of the events. */
  | { readonly do: 'correct'; readonly nth: number }
  | { readonly do: 'adjust'; readonly userId: string; readonly key: string; readonly amount: number }
  | { readonly do: 'delete'; readonly userId: string }
  /** A new version of the configuration. Some users are read just before it, some just after. */
  | ({ readonly do: 'configure' } & Version)
  /** Without a sweep before the end, and more than once: the clock moves, some users act, and then comes a new version of the configuration. */
  | { readonly do: 'lapse'; readonly stages: readonly Stage[] }
  | ({ readonly do: 'read' } & Read);

export interface History {
  readonly config: ConfigDocument;
  /** From `baseMs` on. */
  readonly steps: readonly Step[];
}

/** What is always the same, or says nothing, in a printed document. */
const silent = new Set(['id', 'no', 'nextNo', 'created', 'updated', 'name', 'description', 'badgeUrl', 'messages', 'unitType', 'units']);

/** A document as an engineer reads it: keys for ids, and without what says nothing. */
function printDocument(document: ConfigDocument): string {
  const keys = new Map<string, string>();
  const shown = (key: string, value: unknown): unknown => {
    if (silent.has(key) || value === null || (Array.isArray(value) && value.length === 0) || value === false) return undefined;
    return typeof value === 'string' ? (keys.get(value) ?? value) : value;
  };
  for (const { id, key } of [document.attributes, document.metrics, document.achievements, document.pointsSystems].flat())
    keys.set(id, key);
  const usual = emptyConfig.settings as unknown as Readonly<Record<string, unknown>>;
  const settings = Object.entries(document.settings).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(usual[field]));
  return Object.entries({ ...document, settings: Object.fromEntries(settings) })
    .filter(([part, value]) => !silent.has(part) && part !== 'attributes' && Object.keys(value as object).length > 0)
    .map(([part, value]) => `${part}: ${JSON.stringify(value, shown)}`)
    .join('\n');
}

/** A history as text: the configuration, and a line for each step with the moment at which it begins. */
export function printHistory({ config, steps }: History): string {
  let now = baseMs;
  const lines = steps.map((step, index) => {
    const line = `${String(index).padStart(3)}  ${new Date(now).toISOString()}  ${JSON.stringify(step)}`;
    now = endOf(step, now);
    return line;
  });
  return [printDocument(config), ...lines].join('\n');
}

/** The moment at which a step ends that begins at another. */
function endOf(step: Step, from: number): number {
  switch (step.do) {
    case 'clock':
      return resolveJump(step.jump, from);
    case 'lapse':
      return step.stages.reduce((at, { jump }) => resolveJump(jump, at), from);
    case 'routine':
      return Array.from({ length: step.days }).reduce<number>((at) => nextRoutine(step.zone, at), from);
    case 'travel':
      return step.hops.reduce((at, { hours }) => resolveJump({ by: hours * hourMs }, at), from);
    default:
      return from;
  }
}

const nextRoutine = (zone: string, from: number): number => resolveJump({ to: 'midnight', zone, offsetMs: 12 * hourMs }, from);

class Run {
  now = baseMs;
  private config: ConfigDocument;
  private readonly model: Operations;
  private readonly subject: Subject;
  private readonly keyed: EventRequest[] = [];
  /** When each idempotency key was used, by nameOf. */
  private readonly usedAt = new Map<string, number>();
  /** Keys that had expired when the retention became longer: they count again if the worker had not removed them (docs/rules/idempotency.md). */
  private readonly open = new Set<string>();
  /** What each side calls an event. */
  private readonly events: { readonly user: string; readonly model: string; readonly subject: string }[] = [];
  /** What each side calls a pause. */
  private readonly pauses: { readonly model: string; readonly subject: string }[] = [];

  constructor(config: ConfigDocument, model: Operations, subject: Subject) {
    this.config = config;
    this.model = model;
    this.subject = subject;
  }

  /** Does one step on both sides. Throws where they differ. */
  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'event': {
        const { do: _, ...request } = step;
        await this.event(request);
        return;
      }
      case 'replay': {
        const again = this.keyed[step.nth % Math.max(1, this.keyed.length)];
        if (again) await this.event({ ...again, value: step.value });
        return;
      }
      case 'routine':
        for (let day = 0; day < step.days; day += 1) {
          await this.moveTo(nextRoutine(step.zone, this.now));
          for (const id of step.userIds) await this.event({ metricKey: step.metricKey, user: { id }, value: step.value });
        }
        return;
      case 'travel':
        for (const { zone, hours, value } of step.hops) {
          await this.ask(['identify', 'upsert', step.userId, { tz: zone }]);
          await this.moveTo(resolveJump({ by: hours * hourMs }, this.now));
          if (value !== null) await this.event({ metricKey: step.metricKey, user: { id: step.userId }, value });
        }
        return;
      case 'identify':
        await this.ask(['identify', step.mode, step.id, step.properties]);
        return;
      case 'complete':
        await this.ask(['completeAchievement', step.key, step.user]);
        return;
      case 'preferences':
        await this.ask(['setStreakPreferences', step.userId, step.preferences]);
        return;
      case 'removeToken':
        await this.ask(['removeDeviceToken', step.userId, step.token]);
        return;
      case 'clock':
        await this.moveTo(resolveJump(step.jump, this.now));
        if (step.look !== null) await this.look(step.look);
        return;
      case 'freeze':
        await this.ask(['grantFreeze', step.userId]);
        return;
      case 'takeFreeze':
        await this.ask(['takeFreeze', step.userId]);
        return;
      case 'pause':
        await this.pause(step.userId, step.startsInDays, step.lastsDays);
        return;
      case 'deletePause':
        await this.deletePause(step.nth);
        return;
      case 'restore':
        await this.ask(['restoreStreak', step.userId]);
        return;
      case 'reset':
        await this.ask(['resetStreak', step.userId]);
        if (step.isUndone) await this.ask(['restoreStreak', step.userId]);
        return;
      case 'correct':
        await this.correct(step.nth);
        return;
      case 'adjust':
        await this.ask(['adjustPoints', step.userId, step.key, { amount: step.amount }]);
        return;
      case 'delete':
        if ((await this.ask(['deleteUser', step.userId]))[0].status === 200) this.config = withoutBoostsOf(this.config, step.userId);
        return;
      case 'configure':
        await this.configure(step);
        return;
      case 'lapse':
        await this.lapse(step.stages);
        return;
      case 'read': {
        const ask = askOf(this.config, this.now, step);
        if (ask) await this.ask(ask);
      }
    }
  }

  /** Reads everything that there is about some users, and all boards. */
  async readEverything(userIds: readonly string[]): Promise<void> {
    for (const read of allReads(this.config, userIds)) {
      const ask = askOf(this.config, this.now, read);
      if (ask) await this.ask(ask);
    }
  }

  private async event(request: EventRequest): Promise<void> {
    const { idempotencyKey, ...unkeyed } = request;
    const name = keyName(request);
    if (idempotencyKey === undefined || this.open.has(name)) {
      this.noteEvent(request, await this.ask(['event', unkeyed]));
      return;
    }
    this.keyed.push(request);
    const answers = await this.ask(['event', request]);
    this.noteEvent(request, answers);
    if (answers[0].status === 201) this.usedAt.set(name, this.now);
  }

  private noteEvent({ user: { id } }: EventRequest, [model, subject]: readonly [model: Answer, subject: Answer]): void {
    const idOf = ({ body }: Answer): string => (body as { eventId: string }).eventId;
    if (model.status === 201) this.events.push({ user: id, model: idOf(model), subject: idOf(subject) });
  }

  private async correct(nth: number): Promise<void> {
    const { length } = this.events;
    // Newer ones first.
    const event = this.events[length - 1 - (nth % Math.max(1, length))];
    if (!event) return;
    const { user, model, subject } = event;
    this.compare(['correctEvent', user, model], this.model.correctEvent(user, model), await this.subject.correctEvent(user, subject));
  }

  /** Notes the keys that had expired when a document with a longer retention comes into force. */
  private noteOpenKeys(next: ConfigDocument): void {
    const [before, after] = [this.config, next].map(({ settings }) => settings.idempotencyRetentionDays ?? Infinity);
    if (before === undefined || after === undefined || after <= before) return;
    for (const [name, at] of this.usedAt) if (this.now >= at + before * dayMs) this.open.add(name);
  }

  private async moveTo(ms: number): Promise<void> {
    this.now = ms;
    this.model.setNow(ms);
    await this.subject.setNow(ms);
  }

  /** Moves the clock without a sweep, unless the worker fills a leaderboard whose start comes: when it does so within the lapse is open. */
  private async driftTo(ms: number): Promise<void> {
    if (startsWithin(this.config, this.now, ms)) {
      await this.moveTo(ms);
      return;
    }
    this.now = ms;
    this.model.drift(ms);
    await this.subject.drift(ms);
  }

  /** Reads the first places of a board. */
  private async look(board: number): Promise<void> {
    const ask = askOf(this.config, this.now, { read: 'leaderboard', board, back: null, offset: 0, limit: 10, fromUser: null, group: 0 });
    if (ask) await this.ask(ask);
  }

  /** Reads what time does to users. */
  private async readUsers(userIds: readonly string[]): Promise<void> {
    for (const userId of userIds) {
      await this.ask(['streak', userId, 8]);
      for (const { key } of this.config.pointsSystems) await this.ask(['points', userId, key, 20]);
    }
  }

  private async lapse(stages: readonly Stage[]): Promise<void> {
    for (const [index, stage] of stages.entries()) {
      await this.driftTo(resolveJump(stage.jump, this.now));
      for (const step of stage.during) await this.take(step);
      await this.configure(stage, index < stages.length - 1 ? 'activate' : 'configure');
    }
    // Without a change at its end, a lapse ends with a sweep all the same.
    await this.moveTo(this.now);
  }

  /** Puts the changed document into force, if anything has changed. */
  private async configure({ before, edits, after }: Version, how: 'configure' | 'activate' = 'configure'): Promise<void> {
    const next = edits.reduce((document, edit) => applyEdit(document, edit, this.now), this.config);
    if (JSON.stringify(next) === JSON.stringify(this.config)) return;
    await this.readUsers(before);
    this.noteOpenKeys(next);
    this.config = next;
    this.model[how](next);
    await this.subject[how](next);
    for (const edit of edits) if ('list' in edit && edit.list === 'leaderboards') await this.look(Number(edit.which));
    await this.readUsers(after);
  }

  private async pause(userId: string, startsInDays: number, lastsDays: number): Promise<void> {
    const { start, end } = pauseDates(this.now, startsInDays, lastsDays);
    const [model, subject] = await this.ask(['createPause', userId, start, end]);
    const idOf = ({ body }: Answer): string => (body as { pauseId: string }).pauseId;
    if (model.status === 200) this.pauses.push({ model: idOf(model), subject: idOf(subject) });
  }

  private async deletePause(nth: number): Promise<void> {
    const [pause] = this.pauses.splice(nth % Math.max(1, this.pauses.length), 1);
    if (!pause) return;
    this.compare(['deletePause', pause.model], this.model.deletePause(pause.model), await this.subject.deletePause(pause.subject));
  }

  private async ask([name, ...args]: Ask): Promise<[model: Answer, subject: Answer]> {
    const call = (side: Subject): Answer | Promise<Answer> => (side[name] as (...all: unknown[]) => Answer | Promise<Answer>)(...args);
    const [model, subject] = [await call(this.model), await call(this.subject)];
    this.compare([name, ...args], model, subject);
    return [model, subject];
  }

  private compare(asked: readonly unknown[], model: Answer, subject: Answer): void {
    const plain = ({ status, body }: Answer): unknown =>
      normalise(JSON.parse(JSON.stringify(status < 300 ? { status, body } : { status })));
    const found = differences(plain(model), plain(subject));
    if (found.length === 0) return;
    throw new Error(`at ${new Date(this.now).toISOString()}, ${JSON.stringify(asked)}\n  ${found.join('\n  ')}`);
  }
}

const keyName = ({ user: { id }, metricKey, idempotencyKey }: EventRequest): string => JSON.stringify([id, metricKey, idempotencyKey]);

/** Whether a leaderboard may start, in some time zone, between two moments. */
const startsWithin = ({ leaderboards }: ConfigDocument, from: number, to: number): boolean =>
  leaderboards.some(({ status, start }) => {
    const starts = dayOf(start) * dayMs;
    return status === 'active' && starts > from - dayMs && starts <= to + dayMs;
  });

/** The users whom a history names. */
function usersOf(steps: readonly Step[]): string[] {
  const ids = steps.flatMap((step) => {
    if (step.do === 'event' || step.do === 'complete') return [step.user.id];
    if (step.do === 'identify') return [step.id];
    if (step.do === 'travel') return [step.userId];
    if (step.do === 'lapse') return step.stages.flatMap(({ during }) => usersOf(during));
    return step.do === 'routine' ? step.userIds : [];
  });
  return [...new Set(ids)].sort();
}

/** What an error and its causes say. */
const withCauses = (error: unknown): string =>
  error instanceof Error
    ? [error.message, ...(error.cause === undefined ? [] : [`Cause: ${withCauses(error.cause)}`])].join('\n')
    : String(error);

/**
 * Runs a history on the model and on a subject, both with the history's configuration and the clock at `baseMs`, and compares every
 * answer, and at the end, after `beforeReading`, everything that can be read. Throws with the index of the step, the step, what was asked, and what differs.
 */
export async function runHistory(
  { config, steps }: History,
  model: Operations,
  subject: Subject,
  beforeReading: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const run = new Run(config, model, subject);
  const attempt = async (where: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      throw new Error(`${where}\n${withCauses(error)}`, { cause: error });
    }
  };
  for (const [index, step] of steps.entries()) await attempt(`step ${index}: ${JSON.stringify(step)}`, () => run.take(step));
  await attempt(`after step ${steps.length - 1}`, async () => {
    await beforeReading();
    await run.readEverything(usersOf(steps));
  });
}
