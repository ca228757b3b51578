/** The views of the tables of test/rules (see rules.ts): each shows one thing in the words of the third column. */
import type { Scene } from './rules-actions.js';
import type { AwardRow, BoardBlock, EventBlock, PointsBlock, StreakBlock, UserPoints } from './model/examples.js';
import type { Answer } from './model/world.js';

interface Keyed {
  readonly key: string;
}

interface Ranked {
  readonly userId: string;
  readonly value: number;
}

/** The subject of a view: scene, user, and the expected words for views that depend on them. */
interface Look {
  readonly scene: Scene;
  readonly user: string;
  /** The name in brackets; the first of its kind by default. */
  readonly which: string | undefined;
  readonly expected: string;
}

type Shown = string | number | undefined;
type View = (look: Look) => Promise<Shown> | Shown;

/** A date or an instant of 2040 without its year. */
const short = (date: string | null): string => (date === null ? '-' : date.replace(/^2040-/, ''));
const orDash = (text: string | null | undefined): string => (text === undefined || text === null || text === '' ? '-' : text);

/** The body of a read that must not be refused. That it has this shape is the caller's claim. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
function bodyOf<T>({ status, body }: Answer): T {
  if (status >= 300) throw new Error(`a read was refused with ${status}`);
  return body as T;
}

const streak = async ({ scene, user }: Look, periods = 7): Promise<StreakBlock> => bodyOf(await scene.subject.streak(user, periods));
const event = ({ scene }: Look): EventBlock => scene.answer?.body as EventBlock;

const systemKey = ({ scene, which }: Look): string => which ?? scene.document.pointsSystems[0]?.key ?? '';
const points = async (look: Look): Promise<UserPoints> => bodyOf(await look.scene.subject.points(look.user, systemKey(look), 100));
/** What the last answer says of a points system; undefined if it is silent. */
const said = (look: Look): PointsBlock | undefined => event(look).points[systemKey(look)];

/** The board, and the run and the group after it, as in `[weekly/01-02]` and `[cities@city:Nuuk]`. */
function boardNamed({ scene, which = '' }: Look): { key: string; run: string | undefined; userAttributes: string | undefined } {
  const [, key, run, group] = /^([^/@]*)(?:\/([^@]+))?(?:@(.+))?$/.exec(which) ?? [];
  return {
    key: key === undefined || key === '' ? (scene.document.leaderboards[0]?.key ?? '') : key,
    run: run === undefined ? undefined : run.length > 5 ? run : `2040-${run}`,
    userAttributes: group,
  };
}
const saidOfBoard = (look: Look): BoardBlock | undefined => event(look).leaderboards[boardNamed(look).key];
const rows = (rankings: readonly Ranked[]): string => orDash(rankings.map(({ userId, value }) => `${userId} ${value}`).join(', '));

async function board(look: Look): Promise<string> {
  const { key, run, userAttributes } = boardNamed(look);
  const answer = await look.scene.subject.leaderboard(key, { run, limit: 1000, userAttributes });
  return answer.status === 200 ? rows((answer.body as { rankings: Ranked[] }).rankings) : String(answer.status);
}

async function final(look: Look): Promise<string> {
  const { key, run } = boardNamed(look);
  const { status, body } = await look.scene.subject.finalRankings(key, run ?? '');
  return status === 200 ? rows((body as { rankings: Ranked[] }).rankings) : 'open';
}

async function place(look: Look): Promise<string> {
  const { key, run } = boardNamed(look);
  const found = bodyOf<{ rank: number | null; value: number | null }>(await look.scene.subject.userLeaderboard(look.user, key, run));
  return found.rank === null ? '-' : `${found.rank} with ${found.value}`;
}

async function achievement({ scene, which }: Look): Promise<{ completions: number; rarity: number }> {
  const all = bodyOf<(Keyed & { completions: number; rarity: number })[]>(await scene.subject.allAchievements());
  const key = which ?? scene.document.achievements[0]?.key;
  return all.find((one) => one.key === key) ?? { completions: NaN, rarity: NaN };
}

const keysOf = (list: readonly Keyed[]): string => orDash(list.map(({ key }) => key).join(' '));
const dated = ({ awarded, date }: AwardRow): string => `${short(date).slice(0, 11).replace('T', ' ')} ${awarded}`;
const amounts = (awards: readonly AwardRow[] | undefined): string => orDash(awards?.map(({ awarded }) => awarded).join(' '));

/** `2` is the length after a period, `2f` and `2p` one that a freeze or a pause has covered, `2r` one in which the streak was reset. */
const periods = ({ streakHistory }: StreakBlock): string =>
  streakHistory
    .map(
      ({ length, usedFreeze, usedPause, resetAt }) =>
        `${length}${usedFreeze === true ? 'f' : ''}${usedPause ? 'p' : ''}${resetAt ? 'r' : ''}`,
    )
    .join(' ');

const views: Readonly<Record<string, View>> = {
  /** The length. */
  streak: async (look) => (await streak(look)).length,
  freezes: async (look) => (await streak(look)).freezes ?? '-',
  maxFreezes: async (look) => (await streak(look)).maxFreezes ?? '-',
  /** What the event says of them. */
  saidFreezes: (look) => {
    const { freezes, maxFreezes } = event(look).currentStreak;
    return freezes === undefined && maxFreezes === undefined ? '-' : `${freezes} of ${maxFreezes}`;
  },
  /** When the streak was last extended, as the call of one user and that of many have it. */
  extendedAt: async (look) => {
    const many = bodyOf<{ extended: string | null }[]>(await look.scene.subject.streaks([look.user]));
    const found = [(await streak(look)).extended as string | null, ...many.map(({ extended }) => extended)].map(short);
    return [...new Set(found)].join(' and ');
  },
  expires: async (look) => short((await streak(look)).expires),
  started: async (look) => short((await streak(look)).started),
  period: async (look) => {
    const { periodStart, periodEnd } = await streak(look);
    return `${short(periodStart)}..${short(periodEnd)}`;
  },
  saidExpires: (look) => short(event(look).currentStreak.expires),
  /** What the event says of the period. */
  saidPeriod: (look) => {
    const { periodStart, periodEnd } = event(look).currentStreak;
    return `${short(periodStart)}..${short(periodEnd)}`;
  },
  /** As many of the last periods as are expected. */
  history: async (look) => periods(await streak(look, look.expected.split(' ').length)),
  /** The webhooks about the streak so far. */
  told: async ({ scene, user }) => {
    const sent = bodyOf<{ kind: string; about: unknown }[]>(await scene.subject.webhooks(user));
    return orDash(sent.flatMap(({ kind, about }) => (kind.startsWith('streak.') ? [`${kind} ${String(about)}`] : [])).join(', '));
  },
  pauses: async (look) =>
    orDash(
      (await streak(look)).pauses
        .map((one) =>
          Object.values(one as { start: string; end: string })
            .slice(1)
            .map(short)
            .join('..'),
        )
        .join(' '),
    ),
  /** Whether the event extended the streak. */
  extended: (look) => (event(look).currentStreak.extended === true ? 'yes' : 'no'),
  /** The users whom the row asks for, ranked. */
  streaks: async ({ scene, expected }) => {
    const ids = expected.split(', ').map((word) => word.split(' ')[0] ?? '');
    const ranked = bodyOf<{ userId: string; streakLength: number }[]>(await scene.subject.streaks(ids.sort()));
    return ranked.map(({ userId, streakLength }) => `${userId} ${streakLength}`).join(', ');
  },

  points: async (look) => (await points(look)).total,
  level: async (look) => orDash((await points(look)).level?.key),
  /** Everything awarded so far, the first one first: when, and how much. */
  paid: async (look) => orDash([...(await points(look)).awards].reverse().map(dated).join(', ')),
  /** What the call added. */
  added: (look) => said(look)?.added ?? 0,
  /** Each award of the call. */
  awarded: (look) => amounts(said(look)?.awards),
  /** The boosts of the call's first award. */
  boosted: (look) =>
    orDash(
      said(look)
        ?.awards[0]?.boosts.map(({ name }) => name)
        .join(', '),
    ),
  /** The multipliers that each award lists, the first award first. */
  multiplied: async (look) =>
    orDash(
      [...(await points(look)).awards]
        .reverse()
        .map(({ boosts }) => boosts.map(({ multiplier }) => `×${multiplier}`).join(' ') || '-')
        .join(', '),
    ),
  /** What the call says of the level: `silent` if it has not changed. */
  newLevel: (look) => {
    const block = said(look);
    return block === undefined || !('level' in block) ? 'silent' : orDash(block.level?.key);
  },

  total: (look) => event(look).total,
  replayed: (look) => (event(look).idempotentReplayed === true ? 'yes' : 'no'),
  refused: ({ scene }) => scene.answer?.status,
  /** What the call completed, and what the user has completed. */
  completed: (look) => keysOf(event(look).achievements),
  has: async ({ scene, user }) => keysOf(bodyOf<Keyed[]>(await scene.subject.achievements(user, false))),
  /** What is shown of achievements: in the user's own list, among those of the metrics, and in the list of all. */
  sees: async ({ scene, user }) => keysOf(bodyOf<Keyed[]>(await scene.subject.achievements(user, true))),
  metric: async ({ scene, user }) =>
    keysOf(bodyOf<{ achievements: Keyed[] }[]>(await scene.subject.metrics(user)).flatMap(({ achievements }) => achievements)),
  listed: async ({ scene }) => keysOf(bodyOf<Keyed[]>(await scene.subject.allAchievements())),
  achieved: async ({ scene, user }) =>
    orDash(
      bodyOf<{ achievedAt: string }[]>(await scene.subject.achievements(user, false))
        .map((one) => short(one.achievedAt))
        .join(' '),
    ),
  /** The achievements that webhooks were about. */
  announced: async ({ scene, user }) => {
    const sent = bodyOf<{ kind: string; about: string }[]>(await scene.subject.webhooks(user));
    return keysOf(sent.filter(({ kind }) => kind === 'achievement.completed').map(({ about: key }) => ({ key })));
  },
  completions: async (look) => (await achievement(look)).completions,
  rarity: async (look) => (await achievement(look)).rarity,

  board,
  final,
  place,
  /** What the event says of a board: the rank and the one before, `silent` if nothing changed. */
  rank: (look) => {
    const block = saidOfBoard(look);
    return block ? `${block.previousRank ?? '-'} > ${block.rank ?? '-'}` : 'silent';
  },
  threshold: (look) => saidOfBoard(look)?.threshold,
  run: (look) => {
    const block = saidOfBoard(look);
    return block ? `${short(block.start)}..${short(block.end)}` : '-';
  },
  boards: async ({ scene, which }) => {
    const listed = bodyOf<(Keyed & { status: string })[]>(await scene.subject.leaderboards(which === 'all'));
    return orDash(listed.map(({ key, status }) => `${key} ${status}`).join(', '));
  },

  /** A property of the profile, which stands in brackets. */
  profile: async ({ scene, user, which = '' }) => {
    const profile = bodyOf<Record<string, unknown>>(await scene.subject.user(user));
    const attributes = profile['attributes'] as Record<string, string>;
    return orDash((profile[which] ?? attributes[which]) as string | null);
  },
  /** Whether there is such a user. */
  known: async ({ scene, user }) => ((await scene.subject.user(user)).status === 200 ? 'yes' : 'no'),
};

/** A check of the third column with what is really so in place of what is expected. */
export async function view(scene: Scene, check: string): Promise<string> {
  const words = check.split(' ');
  const nameOf = (word = ''): string => word.replace(/\[.*$/, '');
  // A check starts with the name of a view, or with a user and then the name of one.
  const own = nameOf(words[0]) in views ? 0 : 1;
  const found = views[nameOf(words[own])];
  if (!found) throw new Error(`no view is named like "${check}"`);
  const which = /\[(.*)\]$/.exec(words[own] ?? '')?.[1];
  const user = own === 1 ? (words[0] ?? '') : scene.user;
  const shown = await found({ scene, user, which, expected: words.slice(own + 1).join(' ') });
  return [...words.slice(0, own + 1), String(shown)].join(' ');
}
