/** The rules of benchmarks/load/wide.yaml, as a back end has them that is written for it alone. Days are numbered since 1970-01-01. */

const levels = Array.from({ length: 12 }, (_, i) => ({ key: `level-${i + 1}`, points: [10, 25, 50][i] ?? 100 * 2 ** (i - 3) }));
const cardsAchievements = [
  { key: 'cards-10', from: 10 },
  { key: 'cards-100', from: 100 },
] as const;
const streakThreshold = 5;
const streakOfWeek = 7;
const freezes = { initial: 1, maximum: 3, everyDays: 7 } as const;
/** The first day of the first run of the weekly leaderboard, 2026-01-05, a Monday. */
const firstMonday = Date.parse('2026-01-05') / 86_400_000;

/** What is kept of a user, but for the profile. */
export interface UserState {
  readonly total: number;
  readonly points: number;
  readonly streak: number;
  /** The last day that extended the streak, or that a freeze covered. */
  readonly streakDay: number;
  /** The day of `dayTotal`. */
  readonly day: number;
  readonly dayTotal: number;
  readonly freezes: number;
  /** How often freezes have been earned. */
  readonly earned: number;
  readonly createdDay: number;
  readonly completed: readonly string[];
}

interface Award {
  readonly trigger: string;
  readonly points: number;
  readonly total: number;
}

/** What an event has led to. */
export interface Outcome {
  readonly after: UserState;
  readonly awards: readonly Award[];
  readonly completed: readonly string[];
}

export const newUser = (today: number): UserState => ({
  ...{ total: 0, points: 0, streak: 0, streakDay: today - 1, day: today, dayTotal: 0 },
  ...{ freezes: freezes.initial, earned: 0, createdDay: today, completed: [] },
});

/** The run of the weekly leaderboard that contains a day. */
export const weekOf = (day: number): number => Math.floor((day - firstMonday) / 7);

/** The key of the level that a total has. */
export const levelOf = (points: number): string | null => levels.findLast((level) => level.points <= points)?.key ?? null;

/** The freezes that have been earned until a day, included. */
function withEarned(user: UserState, day: number): UserState {
  const earned = Math.max(user.earned, Math.floor((day - user.createdDay) / freezes.everyDays));
  return { ...user, earned, freezes: Math.max(user.freezes, Math.min(freezes.maximum, user.freezes + earned - user.earned)) };
}

/** The streak after the days that were missed until yesterday: each uses a freeze, or ends it. */
function settled(before: UserState, today: number): UserState {
  let user = before;
  for (let missed = user.streakDay + 1; missed < today && user.streak > 0; missed += 1) {
    user = withEarned(user, missed);
    user = user.freezes > 0 ? { ...user, freezes: user.freezes - 1, streakDay: missed } : { ...user, streak: 0 };
  }
  return withEarned(user.day === today ? user : { ...user, day: today, dayTotal: 0 }, today);
}

/** What an event of a value does. */
export function applyEvent(before: UserState, { value, plan, today }: { value: number; plan: string | null; today: number }): Outcome {
  const user = settled(before, today);
  const total = user.total + value;
  const dayTotal = user.dayTotal + value;
  const isExtended = dayTotal >= streakThreshold && user.streakDay < today;
  const streak = user.streak + (isExtended ? 1 : 0);

  const completed: string[] = [];
  const has = (key: string): boolean => user.completed.includes(key) || completed.includes(key);
  for (const { key, from } of cardsAchievements) if (total >= from && !has(key)) completed.push(key);
  if (isExtended && streak >= streakOfWeek && !has('week')) completed.push('week');
  if (completed.length > 0 && has('cards-100') && has('week') && !has('both')) completed.push('both');

  const passed = (threshold: number): number => Math.floor(total / threshold) - Math.floor(user.total / threshold);
  const earned = [
    { trigger: 'cards', points: 10 * passed(5) },
    { trigger: 'cards-of-pros', points: plan === 'pro' ? 15 * passed(20) : 0 },
    { trigger: 'week', points: isExtended && streak % streakOfWeek === 0 ? 50 : 0 },
    { trigger: 'hundred', points: completed.includes('cards-100') ? 200 : 0 },
  ];
  let points = user.points;
  const awards: Award[] = [];
  for (const { trigger, points: plain } of earned) {
    if (plain === 0) continue;
    const boosted = plan === 'pro' ? Math.round(plain * 1.5) : plain;
    points += boosted;
    awards.push({ trigger, points: boosted, total: points });
  }
  const after = { ...user, total, dayTotal, points, streak, streakDay: isExtended ? today : user.streakDay };
  return { after: { ...after, completed: [...user.completed, ...completed] }, awards, completed };
}
