/** What a configuration has in use, each part with its path from the document's root: what the rules of validate.ts look at. */
import {
  type Achievement,
  type ConfigDocument,
  type ConfigObject,
  type Leaderboard,
  type Metric,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
  type Webhook,
} from './model.js';
import { type Path } from './yaml.js';

export interface At<T> {
  readonly object: T;
  readonly path: Path;
}

/** What is not archived. Levels, triggers and boosts are those of all points systems. */
export interface Parts {
  readonly metrics: readonly At<Metric>[];
  readonly systems: readonly At<PointsSystem>[];
  readonly levels: readonly At<PointsLevel>[];
  readonly triggers: readonly At<PointsTrigger>[];
  readonly boosts: readonly At<PointsBoost>[];
  readonly achievements: readonly At<Achievement>[];
  readonly leaderboards: readonly At<Leaderboard>[];
  readonly webhooks: readonly At<Webhook>[];
}

/** The un-archived objects of a list, with their paths. */
export function live<T extends ConfigObject>(list: readonly T[], path: Path): At<T>[] {
  return list.map((object, index) => ({ object, path: [...path, index] })).filter(({ object }) => !object.archived);
}

export function partsOf(document: ConfigDocument): Parts {
  const systems = live(document.pointsSystems, ['pointsSystems']);
  return {
    metrics: live(document.metrics, ['metrics']),
    systems,
    levels: systems.flatMap(({ object, path }) => live(object.levels, [...path, 'levels'])),
    triggers: systems.flatMap(({ object, path }) => live(object.triggers, [...path, 'triggers'])),
    boosts: systems.flatMap(({ object, path }) => live(object.boosts, [...path, 'boosts'])),
    achievements: live(document.achievements, ['achievements']),
    leaderboards: live(document.leaderboards, ['leaderboards']),
    webhooks: live(document.webhooks, ['webhooks']),
  };
}
