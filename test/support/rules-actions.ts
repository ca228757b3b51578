/** The actions of the tables of test/rules (see rules.ts). */
import type { ConfigDocument, StreakSettings } from '../../src/config/model.js';
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
  pauseId: string;
}

/** `city=Nuuk tz=NZ key=k1`, sorted into what they are properties of. `tz=-` is null. */
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
  const own = Object.entries(of((key) => ['name', 'email', 'tz'].includes(key)));
  const properties = own.map(([key, value]) => [key, key === 'tz' ? (value === '-' ? null : zoneNamed(value)) : value] as const);
  return {
    user: { ...Object.fromEntries(properties), ...(Object.keys(attributes).length > 0 ? { attributes } : {}) },
    event: of((key) => key in eventAttributeValues),
    key: of((key) => key === 'key')['key'],
  };
}

type Action = (scene: Scene, ...words: string[]) => Promise<Answer> | Answer;

const event: Action = ({ subject }, user = '', metricKey = '', value = '', more) => {
  const { user: properties, event: attributes, key } = wordsOf(more);
  return subject.event({ metricKey, value: Number(value), user: { id: user, ...properties }, attributes, idempotencyKey: key });
};

const identify: Action = ({ subject }, user = '', more) => subject.identify('upsert', user, wordsOf(more).user);

const pause: Action = async (scene, user = '', start, end) => {
  const answer = await scene.subject.createPause(user, `2040-${start}`, `2040-${end}`);
  scene.pauseId = (answer.body as { pauseId: string } | undefined)?.pauseId ?? '';
  return answer;
};

const position = (list: readonly { readonly key: string }[], key: string): number => list.findIndex((object) => object.key === key);

/** Changes by the operator: triggers and levels are those of the first system, counted from 1. */
const operations: readonly (readonly [pattern: RegExp, edit: (document: ConfigDocument, words: readonly string[]) => Edit])[] = [
  [/^frequency (\S+)$/, (_, [frequency]) => ({ edit: 'frequency', frequency: frequency as StreakSettings['frequency'] })],
  [/^mode (\S+)$/, (_, [mode]) => ({ edit: 'evaluationMode', mode: mode as StreakSettings['evaluationMode'] })],
  [/^threshold (\S+)$/, (_, [threshold]) => ({ edit: 'condition', condition: 0, threshold: Number(threshold) })],
  [/^trigger (\d+) off or on$/, (_, [no]) => ({ edit: 'triggerStatus', system: 0, trigger: Number(no) - 1 })],
  [
    /^trigger (\d+) per (\d+)$/,
    (_, [no, threshold]) => ({ edit: 'threshold', system: 0, trigger: Number(no) - 1, threshold: Number(threshold) }),
  ],
  [/^level (\d+) at (\d+)$/, (_, [no, points]) => ({ edit: 'level', system: 0, level: Number(no) - 1, points: Number(points) })],
  [/^at most (\d+) points$/, (_, [most]) => ({ edit: 'maxPoints', system: 0, maxPoints: Number(most) })],
  [
    /^achievement (\S+) at (\d+)$/,
    ({ achievements }, [key = '', value]) => ({ edit: 'achievementValue', achievement: position(achievements, key), value: Number(value) }),
  ],
  // Inactive → active ↔ locked.
  [
    /^achievement (\S+) moves on$/,
    ({ achievements }, [key = '']) => ({ edit: 'achievementStatus', achievement: position(achievements, key) }),
  ],
  [/^opens (\S+)$/, ({ leaderboards }, [key = '']) => ({ edit: 'openLeaderboard', leaderboard: position(leaderboards, key) })],
  [
    /^(\S+) for (\d+)$/,
    ({ leaderboards }, [key = '', max]) => ({ edit: 'participants', leaderboard: position(leaderboards, key), max: Number(max) }),
  ],
];

const operate: Action = async (scene, what = '') => {
  const [pattern, edit] = operations.find(([known]) => known.test(what)) ?? [];
  if (!pattern || !edit) throw new Error(`no operation is written like "${what}"`);
  scene.document = applyEdit(scene.document, edit(scene.document, (pattern.exec(what) ?? []).slice(1)), scene.nowMs);
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
  [/^(\S+) restores the streak$/, ({ subject }, user = '') => subject.restoreStreak(user)],
  [
    /^(\S+) completes (\S+)(?: (.+))?$/,
    ({ subject }, user = '', key = '', more) => subject.completeAchievement(key, { id: user, ...wordsOf(more).user }),
  ],
  [
    /^(\S+) prefers (\S+) (\S+)$/,
    ({ subject }, user = '', key = '', threshold) =>
      subject.setStreakPreferences(user, { evaluationMode: 'AND', metrics: [{ key, threshold: Number(threshold) }] }),
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
