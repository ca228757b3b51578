/** The rules between the objects of a complete configuration. What an object can be judged by alone is schema.ts. */
import { limits } from '../limits.js';
import { type AttributeFilter, type ConfigDocument, type ConfigObject, type PointsSystem } from './model.js';
import { type ConfigProblem } from './problems.js';
import { type ReferenceKind } from './stored.js';
import { type Path } from './yaml.js';

interface At<T> {
  readonly object: T;
  readonly path: Path;
}

/** The un-archived objects of a list, with their paths. */
function live<T extends ConfigObject>(list: readonly T[], path: Path): At<T>[] {
  return list.map((object, index) => ({ object, path: [...path, index] })).filter(({ object }) => !object.archived);
}

const nestedLists = ['levels', 'triggers', 'boosts'] as const;

const named = (kind: string, { key }: ConfigObject): string => `${kind} ${JSON.stringify(key)}`;

/**
 * What is wrong with a document, each problem with its path from the document's root; an empty list if it can be compiled and run. The
 * rules are those of issue 2, "Configuration as a file", and docs/configuration.md. What is archived may say what it likes, except that
 * its key stays its own, so that a key that comes back finds its object again.
 */
export function validateConfig(document: ConfigDocument): ConfigProblem[] {
  const systems = live(document.pointsSystems, ['pointsSystems']);
  return [
    ...keyProblems(document),
    ...countProblems(document, systems),
    ...referenceProblems(document, systems),
    ...filterProblems(document, systems),
    ...systems.flatMap(levelProblems),
    ...windowProblems(document, systems),
  ];
}

function keyProblems(document: ConfigDocument): ConfigProblem[] {
  const inSystems = document.pointsSystems.flatMap((system, index) =>
    nestedLists.flatMap((list) => repeated<ConfigObject>(list.slice(0, -1), system[list], ['pointsSystems', index, list])),
  );
  return [
    // A user attribute and an event attribute may share a key (model.ts).
    ...repeated('attribute', document.attributes, ['attributes'], ({ type, key }) => `${type} ${key}`),
    ...repeated('metric', document.metrics, ['metrics']),
    ...repeated('points system', document.pointsSystems, ['pointsSystems']),
    ...inSystems,
    ...repeated('leaderboard', document.leaderboards, ['leaderboards']),
  ];
}

function repeated<T extends ConfigObject>(
  kind: string,
  list: readonly T[],
  path: Path,
  identity = (object: T) => object.key,
): ConfigProblem[] {
  const seen = new Set<string>();
  return list.flatMap((object, index) => {
    const known = seen.has(identity(object));
    seen.add(identity(object));
    return known ? [{ path: [...path, index, 'key'], sentence: `${named(kind, object)}: the key is taken` }] : [];
  });
}

/** Only what is in use counts: archived objects cost an event nothing. */
function countProblems(document: ConfigDocument, systems: readonly At<PointsSystem>[]): ConfigProblem[] {
  const counts: [what: string, path: Path, count: number][] = [
    ['attributes', ['attributes'], live(document.attributes, []).length],
    ['metrics', ['metrics'], live(document.metrics, []).length],
    ['points systems', ['pointsSystems'], systems.length],
    ['leaderboards', ['leaderboards'], live(document.leaderboards, []).length],
    ...nestedLists.map((list): [string, Path, number] => [
      `${list} in all points systems`,
      ['pointsSystems'],
      systems.reduce((sum, { object }) => sum + live<ConfigObject>(object[list], []).length, 0),
    ]),
  ];
  return counts
    .filter(([, , count]) => count > limits.maxConfigObjects)
    .map(([what, path, count]) => ({ path, sentence: `there would be ${count} ${what}: ${limits.maxConfigObjects} is the most` }));
}

interface Reference {
  readonly path: Path;
  /** What refers, as a sentence calls it. */
  readonly from: string;
  readonly to: ReferenceKind;
  readonly id: string;
}

/** Everything that an un-archived object says of another object. */
function references(document: ConfigDocument, systems: readonly At<PointsSystem>[]): Reference[] {
  const filters = filterLists(systems).flatMap(({ from, to, list, path }) =>
    list.map(({ attributeId }, index): Reference => ({ path: [...path, index, 'attributeId'], from, to, id: attributeId })),
  );
  const triggers = systems.flatMap((system) =>
    live(system.object.triggers, [...system.path, 'triggers']).map(({ object, path }): Reference => ({
      path: [...path, 'metricId'],
      from: named('trigger', object),
      to: 'metric',
      id: object.metricId,
    })),
  );
  const boards = live(document.leaderboards, ['leaderboards']).map(({ object, path }): Reference => {
    const from = named('leaderboard', object);
    switch (object.rankBy) {
      case 'metric':
        return { path: [...path, 'metricId'], from, to: 'metric', id: object.metricId };
      case 'points':
        return { path: [...path, 'pointsSystemId'], from, to: 'points system', id: object.pointsSystemId };
    }
  });
  return [...triggers, ...filters, ...boards];
}

function referenceProblems(document: ConfigDocument, systems: readonly At<PointsSystem>[]): ConfigProblem[] {
  const kinds = new Map<string, { kind: ReferenceKind; object: ConfigObject }>();
  for (const object of document.metrics) kinds.set(object.id, { kind: 'metric', object });
  for (const object of document.pointsSystems) kinds.set(object.id, { kind: 'points system', object });
  for (const object of document.attributes) kinds.set(object.id, { kind: `${object.type} attribute`, object });
  return references(document, systems).flatMap(({ path, from, to, id }) => {
    const target = kinds.get(id);
    if (!target) return [{ path, sentence: `${from}: there is no such ${to}` }];
    if (target.kind !== to) {
      return [{ path, sentence: `${from}: there is no such ${to}, only the ${named(target.kind, target.object)}` }];
    }
    return target.object.archived ? [{ path, sentence: `${from}: ${named(to, target.object)} is archived` }] : [];
  });
}

interface FilterList {
  readonly path: Path;
  readonly from: string;
  readonly to: 'user attribute' | 'event attribute';
  readonly list: readonly AttributeFilter[];
}

/** The attribute filters of un-archived triggers and boosts. */
function filterLists(systems: readonly At<PointsSystem>[]): FilterList[] {
  return systems.flatMap((system) => {
    const triggers = live(system.object.triggers, [...system.path, 'triggers']).flatMap(({ object, path }): FilterList[] => {
      const from = named('trigger', object);
      return [
        { path: [...path, 'userAttributes'], from, to: 'user attribute', list: object.userAttributes },
        { path: [...path, 'eventAttributes'], from, to: 'event attribute', list: object.eventAttributes },
      ];
    });
    const boosts = live(system.object.boosts, [...system.path, 'boosts']).map(({ object, path }): FilterList => ({
      path: [...path, 'userAttributes'],
      from: named('boost', object),
      to: 'user attribute',
      list: object.userAttributes,
    }));
    return [...triggers, ...boosts];
  });
}

/** All filters of a list must match (model.ts), so that two on one attribute say the same twice, or never match. */
function filterProblems(document: ConfigDocument, systems: readonly At<PointsSystem>[]): ConfigProblem[] {
  const keys = new Map(document.attributes.map(({ id, key }) => [id, key]));
  return filterLists(systems).flatMap(({ path, from, to, list }) =>
    list.flatMap(({ attributeId }, index) => {
      const first = list.findIndex((filter) => filter.attributeId === attributeId);
      if (first === index || !keys.has(attributeId)) return [];
      const sentence = `${from}: ${to} ${JSON.stringify(keys.get(attributeId))} is filtered twice, and all filters must match`;
      return [{ path: [...path, index, 'attributeId'], sentence }];
    }),
  );
}

function levelProblems({ object: system, path }: At<PointsSystem>): ConfigProblem[] {
  const byPoints = new Map<number, string>();
  return live(system.levels, [...path, 'levels']).flatMap(({ object: level, path: at }) => {
    const from = named('level', level);
    const other = byPoints.get(level.points);
    byPoints.set(level.points, other ?? named('level', level));
    if (other !== undefined) return [{ path: [...at, 'points'], sentence: `${from}: ${other} starts at ${level.points} points as well` }];
    if (system.maxPoints === null || level.points <= system.maxPoints) return [];
    return [{ path: [...at, 'points'], sentence: `${from}: ${level.points} points can't be reached, as maxPoints is ${system.maxPoints}` }];
  });
}

/** Ends before starts, and boosts for one user that also choose whom they are for by attributes. */
function windowProblems(document: ConfigDocument, systems: readonly At<PointsSystem>[]): ConfigProblem[] {
  const boosts = systems.flatMap((system) => live(system.object.boosts, [...system.path, 'boosts']));
  const windows = [
    ...boosts.map(({ object, path }) => ({ object, path, from: named('boost', object) })),
    ...live(document.leaderboards, ['leaderboards']).map(({ object, path }) => ({ object, path, from: named('leaderboard', object) })),
  ];
  const backwards = windows.flatMap(({ object: { start, end }, path, from }) =>
    // Days written YYYY-MM-DD sort as texts.
    end !== null && end < start ? [{ path: [...path, 'end'], sentence: `${from}: the end ${end} is before the start ${start}` }] : [],
  );
  const doubled = boosts
    .filter(({ object }) => object.userId !== null && object.userAttributes.length > 0)
    .map(({ object, path }) => ({
      path: [...path, 'userAttributes'],
      sentence: `${named('boost', object)}: it is for one user (userId), so userAttributes have nothing to choose`,
    }));
  return [...backwards, ...doubled];
}
