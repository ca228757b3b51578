/** Rules "Points": levels, and the shapes in which points are shown. */
import type { ConfigDocument, PointsLevel, PointsSystem, PointsTrigger } from '../../../src/config/schema/model.js';
import { totalOf, type Award, type Earned } from './points.js';
import { instant } from './time.js';
import type { User } from './users.js';
import { byId, live, Refused, shownEventFilters, shownFilters, type World } from './world.js';

/** Rule "Points": the highest level whose points are at most the total. */
function levelAt(system: PointsSystem, total: number): PointsLevel | null {
  const reached = live(system.levels).filter(({ points }) => points <= total);
  return reached.sort((a, b) => b.points - a.points)[0] ?? null;
}

const levelBody = (level: PointsLevel | null): object | null =>
  level && (({ id, key, name, description, badgeUrl, points }) => ({ id, key, name, description, badgeUrl, points }))(level);

const systemBody = ({ id, key, name, description, badgeUrl, maxPoints }: PointsSystem): object => ({
  id,
  key,
  name,
  description,
  badgeUrl,
  maxPoints,
});

function triggerKindBody(config: ConfigDocument, trigger: PointsTrigger): object {
  switch (trigger.type) {
    case 'metric': {
      const { id, name } = byId(config.metrics, trigger.metricId);
      const filters = shownEventFilters(config, trigger.eventAttributes);
      return { metricId: id, metricName: name, metricThreshold: trigger.metricThreshold, ...filters };
    }
    case 'streak':
      return { streakLengthThreshold: trigger.streakLength };
    case 'achievement':
      return { achievementId: trigger.achievementId, achievementName: byId(config.achievements, trigger.achievementId).name };
    case 'time':
      return { timeUnit: trigger.timeUnit === 'hours' ? 'hour' : 'day', timeInterval: trigger.timeInterval };
    case 'user_creation':
      return {};
  }
}

function triggerBody(config: ConfigDocument, trigger: PointsTrigger): object {
  const { id, type, points, created, updated, archived } = trigger;
  const status = archived ? 'archived' : trigger.status;
  const userAttributes = shownFilters(config, trigger.userAttributes);
  return { id, type, points, status, userAttributes, created, updated, ...triggerKindBody(config, trigger) };
}

function awardBody(config: ConfigDocument, system: PointsSystem, { awarded, at, total, ...award }: Award): object {
  // A boost goes with the user whom it was for, also from the awards of others whom it was for before.
  const known = award.boosts.filter((boost) => system.boosts.some(({ id: other }) => other === boost.id));
  const boosts = known.map(({ id: boostId, name, start, end, multiplier, rounding }) => {
    return { id: boostId, name, status: 'active', start, end, multiplier, rounding };
  });
  const trigger = award.trigger === null ? {} : { trigger: triggerBody(config, byId(system.triggers, award.trigger)) };
  return { awarded, date: instant(at), total, ...trigger, boosts };
}

/** What an adjustment is answered with. */
export function adjustedBody(user: User, system: PointsSystem, awarded: number): object {
  const total = totalOf(user, system);
  return { awarded, total, level: levelAt(system, total)?.key ?? null };
}

/** The systems that a call changed, by key. `level` is there only where the call changed it. */
export function earnedBody(world: World, list: readonly Earned[]): object {
  const blocks = list.map(({ system, before, awards }) => {
    const total = awards.at(-1)?.total ?? before;
    const level = levelAt(system, total);
    return [
      system.key,
      {
        ...systemBody(system),
        total,
        ...(level?.id === levelAt(system, before)?.id ? {} : { level: levelBody(level) }),
        added: total - before,
        awards: awards.map((each) => awardBody(world.config, system, each)),
      },
    ] as const;
  });
  return Object.fromEntries(blocks);
}

/** A user's points in one system, with the newest awards first. */
export function pointsBody(world: World, user: User, system: PointsSystem, count: number): object {
  const newest = [...(user.points.get(system.id)?.awards ?? [])].reverse().slice(0, count);
  const total = totalOf(user, system);
  const awards = newest.map((each) => awardBody(world.config, system, each));
  return { ...systemBody(system), total, level: levelBody(levelAt(system, total)), awards };
}

/** Number of users by level, lowest first. A user without points has the level that starts at 0. */
export function levelsBody(world: World, system: PointsSystem): object[] {
  if (live(system.levels).length === 0) throw new Refused(422, 'there are no levels');
  const users = [...world.users.values()].map((user) => levelAt(system, totalOf(user, system))?.id);
  const levels = live(system.levels).sort((a, b) => a.points - b.points);
  return levels.map((level) => ({ level: levelBody(level), users: users.filter((id) => id === level.id).length }));
}
