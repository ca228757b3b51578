import { createHash } from 'node:crypto';
import type { PointsLevel, PointsSystem } from '../config/model.js';

/** The levels of a system that users can have, the lowest first. */
export function levelsOf(system: PointsSystem): PointsLevel[] {
  return system.levels.filter(({ archived }) => !archived).sort((a, b) => a.points - b.points);
}

/** Stands for what decides which level a user has: when it changes, users have to be counted anew. */
export function levelsDefinition(system: PointsSystem): string {
  const levels = levelsOf(system).map(({ no, points }) => [no, points]);
  return levels.length === 0 ? 'none' : createHash('sha256').update(JSON.stringify(levels)).digest('hex').slice(0, 16);
}
