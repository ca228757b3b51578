/** The actions of the tables of test/rules (see rules.ts). */
import type { ConfigDocument, ListName } from '../../src/config/schema/model.js';
import { eventAttributeValues, userAttributeValues } from './model/documents.js';
import { applyEdit, type Edit } from './model/edits.js';
import { zoneNamed } from './model/examples.js';
import type { Subject } from './model/subject.js';
import type { UserProperties } from './model/users.js';
import type { Answer } from './model/world.js';

/** The state of a row being played. */
export interface Scene {
  readonly subject: Subject;
  document: ConfigDocument;
  nowMs: number;
  /** The user whom the last line named. */
  user: string;
  /** The response of the last call. */
  answer: Answer | undefined;
  /** The event that was counted last. */
  eventId: string;
  pauseId: string;
}

/** `city=Nuuk tz=NZ key=k1`, sorted into what they are properties of. `-` is null: `tz=-`. */
interface Words {
  readonly user: UserProperties;
  readonly event: Readonly<Record<string, string>>;
  readonly key: string | undefined;
}

function wordsOf(text = ''): Words {
  const pairs = text.split(' ').flatMap((word) => {
    const [key = '', value = ''] = word.split('=');
    return key === '' ? [] : [[key, value] as const];
  });
  const of = (known: (key: string) => boolean): Record<string, string> => Object.fromEntries(pairs.filter(([key]) => known(key)));
  const attributes = of((key) => key in userAttributeValues);
  const own = Object.entries(of((key) => ['name', 'email', 'tz', 'signUpDate'].includes(key)));
  const properties = own.map(([key, value]) => [key, value === '-' ? null : key === 'tz' ? zoneNamed(value) : value] as const);
  return {
    user: { ...Object.fromEntries(properties), ...(Object.keys(attributes).length > 0 ? { attributes } : {}) },
    event: of((key) => key in eventAttributeValues),
    key: of((key) => key === 'key')['key'],
  };
}

type Action = (scene: Scene, ...words: string[]) => Promise<Answer> | Answer;

const event: Action = async (scene, user = '', metricKey = '', value = '', more) => {
  const { user: properties, event: attributes, key } = wordsOf(more);
  const request = { metricKey, value: Number(value), user: { id: user, ...properties }, attributes, idempotencyKey: key };
  const answer = await scene.subject.event(request);
  scene.eventId = (answer.body as { eventId?: string } | undefined)?.eventId ?? scene.eventId;
  return answer;
};

const identify: Action = ({ subject }, user = '', more) => subject.identify('upsert', user, wordsOf(more).user);

const pause: Action = async (scene, user = '', start, end) => {
  const answer = await scene.subject.createPause(user, `2040-${start}`, `2040-${end}`);
  scene.pauseId = (answer.body as { pauseId: string } | undefined)?.pauseId ?? '';
  return answer;
};

/** The key of a trigger, level or boost of the first system, counted from 1. */
const nth = ({ pointsSystems }: ConfigDocument, list: 'triggers' | 'levels' | 'boosts', no = ''): string =>
  pointsSystems[0]?.[list][Number(no) - 1]?.key ?? '';

const set = (field: string, value: unknown): Edit => ({ edit: 'set', part: 'streaks', field, value });
const change = (list: ListName, which: string, field: string, value: unknown): Edit => ({ edit: 'change', list, which, field, value });

/** `06`: Sunday and Saturday; `-`: none. */
const daysOf = (text: string): number[] => (text === '-' ? [] : Array.from(text, Number));

const nextStatus = { inactive: 'active', active: 'locked', locked: 'active' } as const;

/** Changes by the operator. */
const operations: readonly (readonly [pattern: RegExp, edit: (document: ConfigDocument, words: readonly string[]) => Edit])[] = [
  [/^frequency (\S+)$/, (_, [frequency]) => set('frequency', frequency)],
  [/^days off (-|[0-6]+)$/, (_, [days = '']) => set('daysOff', daysOf(days))],
  [/^mode (\S+)$/, (_, [mode]) => set('evaluationMode', mode)],
  [/^conditions (\S+) (\d+)$/, (_, [key = '', threshold]) => set('metrics', { [key]: Number(threshold) })],
  [/^personalization (on|off)$/, (_, [state]) => set('personalization', state === 'on')],
  [/^streaks (on|off)$/, (_, [state]) => set('enabled', state === 'on')],
  [
    /^freezes (\d+) (\d+) (\d+) (\d+)$/,
    (_, words) => {
      const [initial, maximum, earnInterval, earnAmount] = words.map(Number);
      return set('freezes', { initial, maximum, earnInterval, earnAmount });
    },
  ],
  [/^weeks start on (\S+)$/, (_, [weekStart]) => ({ edit: 'set', part: 'settings', field: 'weekStart', value: weekStart })],
  [/^default zone (\S+)$/, (_, [zone = '']) => ({ edit: 'set', part: 'settings', field: 'defaultTimeZone', value: zoneNamed(zone) })],
  [
    /^trigger (\d+) off or on$/,
    (document, [no]) => {
      const key = nth(document, 'triggers', no);
      const isOn = document.pointsSystems[0]?.triggers.find((trigger) => trigger.key === key)?.status === 'active';
      return change('triggers', key, 'status', isOn ? 'inactive' : 'active');
    },
  ],
  [
    /^trigger (\d+) per (\d+)$/,
    (document, [no, threshold]) => change('triggers', nth(document, 'triggers', no), 'metricThreshold', Number(threshold)),
  ],
  [
    /^trigger (\d+) every (\d+)$/,
    (document, [no, interval]) => change('triggers', nth(document, 'triggers', no), 'timeInterval', Number(interval)),
  ],
  [/^trigger (\d+) counts (\S+)$/, (document, [no, metric]) => change('triggers', nth(document, 'triggers', no), 'metricId', metric)],
  [/^trigger (\d+) pays (-?\d+)$/, (document, [no, points]) => change('triggers', nth(document, 'triggers', no), 'points', Number(points))],
  [/^level (\d+) at (\d+)$/, (document, [no, points]) => change('levels', nth(document, 'levels', no), 'points', Number(points))],
  [
    /^boost (\d+) by (\S+)$/,
    (document, [no, multiplier]) => change('boosts', nth(document, 'boosts', no), 'multiplier', Number(multiplier)),
  ],
  [/^boost (\d+) rounds (\S+)$/, (document, [no, rounding]) => change('boosts', nth(document, 'boosts', no), 'rounding', rounding)],
  [/^boost (\d+) ends in (-?\d+) days$/, (document, [no, days]) => change('boosts', nth(document, 'boosts', no), 'end', Number(days))],
  [
    /^at most (\d+) points$/,
    ({ pointsSystems }, [most]) => change('pointsSystems', pointsSystems[0]?.key ?? '', 'maxPoints', Number(most)),
  ],
  [/^archives (\S+) (\S+)$/, (_, [list, key = '']) => ({ edit: 'archive', list: list as ListName, which: key })],
  [/^revives (\S+) (\S+)$/, (_, [list, key = '']) => ({ edit: 'revive', list: list as ListName, which: key })],
  [
    /^achievement (\S+) at (\d+)$/,
    ({ achievements }, [key = '', value]) => {
      const trigger = achievements.find((one) => one.key === key)?.trigger;
      const field = trigger === 'streak' ? 'streakLength' : trigger === 'anniversary' ? 'anniversaryYears' : 'metricValue';
      return change('achievements', key, field, Number(value));
    },
  ],
  [/^achievement (\S+) counts (\S+)$/, (_, [key = '', metric]) => change('achievements', key, 'metricId', metric)],
  // With 5 of the first metric, a streak of 2, 2 years, or the first other achievement.
  [/^achievement (\S+) is by (\S+)$/, (_, [key = '', trigger]) => change('achievements', key, 'trigger', trigger)],
  // Inactive → active ↔ locked.
  [
    /^achievement (\S+) moves on$/,
    ({ achievements }, [key = '']) => {
      const { status } = achievements.find((one) => one.key === key) ?? { status: 'inactive' };
      return change('achievements', key, 'status', nextStatus[status]);
    },
  ],
  [/^opens (\S+)$/, (_, [key = '']) => change('leaderboards', key, 'status', 'active')],
  [/^(\S+) for (\d+)$/, (_, [key = '', max]) => change('leaderboards', key, 'maxParticipants', Number(max))],
];

const operate: Action = async (scene, what = '') => {
  const [pattern, edit] = operations.find(([known]) => known.test(what)) ?? [];
  if (!pattern || !edit) throw new Error(`no operation is written like "${what}"`);
  const before = scene.document;
  scene.document = applyEdit(before, edit(before, (pattern.exec(what) ?? []).slice(1)), scene.nowMs);
  if (scene.document === before) throw new Error(`"${what}" changes nothing`);
  await scene.subject.configure(scene.document);
  return { status: 200 };
};

/** The first group is the user, where there is one. */
const actions: readonly (readonly [pattern: RegExp, action: Action])[] = [
  [/^nothing$/, () => ({ status: 200 })],
  [/^operator: (.+)$/, operate],
  [/^(\S+) is known$/, identify],
  [/^(\S+) moves to (\S+)$/, (scene, user = '', zone) => identify(scene, user, `tz=${zone}`)],
  [/^(\S+) is (\S+=.+)$/, identify],
  [/^(\S+) gets a freeze$/, ({ subject }, user = '') => subject.grantFreeze(user)],
  [/^(\S+) loses a freeze$/, ({ subject }, user = '') => subject.takeFreeze(user)],
  [/^(\S+) pauses (\S+) to (\S+)$/, pause],
  [/^(\S+) ends the pause$/, ({ subject, pauseId }) => subject.deletePause(pauseId)],
  [/^(\S+) switches streaks (on|off)$/, ({ subject }, user = '', to) => subject.setStreakPreferences(user, { enabled: to === 'on' })],
  [/^(\S+) resets the streak$/, ({ subject }, user = '') => subject.resetStreak(user)],
  [/^(\S+) takes back the event$/, ({ subject, eventId }, user = '') => subject.correctEvent(user, eventId)],
  [
    /^(\S+) is adjusted by (-?\d+)(?: in (\S+))?(?: with (\S+))?$/,
    ({ subject, document }, user = '', amount = '', system = document.pointsSystems[0]?.key ?? '', idempotencyKey) =>
      subject.adjustPoints(user, system, { amount: Number(amount), idempotencyKey }),
  ],
  [/^(\S+) is off on (-|[0-6]+)$/, ({ subject }, user = '', days = '') => subject.setStreakPreferences(user, { daysOff: daysOf(days) })],
  [/^(\S+) restores the streak$/, ({ subject }, user = '') => subject.restoreStreak(user)],
  [
    /^(\S+) completes (\S+)(?: (.+))?$/,
    ({ subject }, user = '', key = '', more) => subject.completeAchievement(key, { id: user, ...wordsOf(more).user }),
  ],
  [
    /^(\S+) prefers (\S+ \S+(?: and \S+ \S+)*)$/,
    ({ subject }, user = '', conditions = '') => {
      const metrics = conditions.split(' and ').map((condition) => {
        const [key = '', threshold] = condition.split(' ');
        return { key, threshold: Number(threshold) };
      });
      return subject.setStreakPreferences(user, { evaluationMode: 'AND', metrics });
    },
  ],
  [/^(\S+) (\S+) (-?\d\S*)(?: (.+))?$/, event],
];

/** Runs the second column of a line. */
export async function act(scene: Scene, what: string): Promise<void> {
  for (const [pattern, action] of actions) {
    const match = pattern.exec(what);
    if (!match) continue;
    const words = match.slice(1);
    const isAboutUser = !/^(nothing|operator:)/.test(what);
    if (isAboutUser) scene.user = words[0] ?? '';
    scene.answer = await action(scene, ...words);
    return;
  }
  throw new Error(`no action is written like "${what}"`);
}
