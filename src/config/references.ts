/** Who refers to whom in a configuration, and what is wrong with it: nothing there, archived, the same thing twice. */
import { type Achievement, type AttributeFilter, type ConfigDocument, type ConfigObject, type PointsTrigger } from './model.js';
import { type At, type Parts } from './parts.js';
import { type ConfigProblem, named } from './problems.js';
import { type ReferenceKind } from './stored.js';
import { type Path } from './yaml.js';

interface Reference {
  readonly path: Path;
  /** What refers, as a sentence calls it. */
  readonly from: string;
  readonly to: ReferenceKind;
  readonly id: string;
}

/** References of which each id may be given once, and what a sentence says of one that is given again. */
interface ReferenceList {
  readonly references: readonly Reference[];
  readonly twice: string;
}

/** References that lead nowhere, or to another kind, or to what is archived. */
export function referenceProblems(document: ConfigDocument, parts: Parts): ConfigProblem[] {
  const kinds = kindsById(document);
  const all = [...references(parts), ...referenceLists(document, parts).flatMap((list) => list.references)];
  return all.flatMap(({ path, from, to, id }) => {
    const target = kinds.get(id);
    if (!target) return [{ path, sentence: `${from}: there is no such ${to}` }];
    if (target.kind !== to) {
      return [{ path, sentence: `${from}: there is no such ${to}, only the ${named(target.kind, target.object)}` }];
    }
    return target.object.archived ? [{ path, sentence: `${from}: ${named(to, target.object)} is archived` }] : [];
  });
}

/** Who refers to an object, as a sentence calls them; each once. */
export function referrersOf(document: ConfigDocument, parts: Parts, id: string): string[] {
  const all = [...references(parts), ...referenceLists(document, parts).flatMap((list) => list.references)];
  return [...new Set(all.filter((reference) => reference.id === id).map(({ from }) => from))];
}

/** What a list names a second time, where once is all that makes sense. */
export function repetitionProblems(document: ConfigDocument, parts: Parts): ConfigProblem[] {
  const kinds = kindsById(document);
  return referenceLists(document, parts).flatMap(({ references: list, twice }) => {
    const seen = new Set<string>();
    return list.flatMap(({ path, from, to, id }) => {
      const known = seen.has(id);
      seen.add(id);
      const target = kinds.get(id);
      return known && target ? [{ path, sentence: `${from}: ${named(to, target.object)} ${twice}` }] : [];
    });
  });
}

/** Everything that can be referred to, archived or not. */
function kindsById(document: ConfigDocument): Map<string, { kind: ReferenceKind; object: ConfigObject }> {
  const kinds = new Map<string, { kind: ReferenceKind; object: ConfigObject }>();
  for (const object of document.metrics) kinds.set(object.id, { kind: 'metric', object });
  for (const object of document.pointsSystems) kinds.set(object.id, { kind: 'points system', object });
  for (const object of document.achievements) kinds.set(object.id, { kind: 'achievement', object });
  for (const object of document.attributes) kinds.set(object.id, { kind: `${object.type} attribute`, object });
  return kinds;
}

/** What un-archived objects say of one other object. */
function references({ triggers, achievements, leaderboards }: Parts): Reference[] {
  return [
    ...triggers.flatMap(triggerReferences),
    ...achievements.flatMap(({ object, path }): Reference[] =>
      object.trigger === 'metric'
        ? [{ path: [...path, 'metricId'], from: named('achievement', object), to: 'metric', id: object.metricId }]
        : [],
    ),
    ...leaderboards.flatMap(({ object, path }): Reference[] => {
      const from = named('leaderboard', object);
      switch (object.rankBy) {
        case 'metric':
          return [{ path: [...path, 'metricId'], from, to: 'metric', id: object.metricId }];
        case 'points':
          return [{ path: [...path, 'pointsSystemId'], from, to: 'points system', id: object.pointsSystemId }];
        case 'streak':
          return [];
      }
    }),
  ];
}

function triggerReferences({ object, path }: At<PointsTrigger>): Reference[] {
  const from = named('trigger', object);
  switch (object.type) {
    case 'metric':
      return [{ path: [...path, 'metricId'], from, to: 'metric', id: object.metricId }];
    case 'achievement':
      return [{ path: [...path, 'achievementId'], from, to: 'achievement', id: object.achievementId }];
    case 'streak':
    case 'time':
    case 'user_creation':
      return [];
  }
}

/** What un-archived objects, and the streak settings, say of several other objects. */
function referenceLists(document: ConfigDocument, { triggers, boosts, achievements, leaderboards }: Parts): ReferenceList[] {
  return [
    ...triggers.flatMap(({ object, path }) => filterLists(object, path, named('trigger', object))),
    ...boosts.flatMap(({ object, path }) => filterLists(object, path, named('boost', object))),
    ...achievements.flatMap(({ object, path }) => filterLists(object, path, named('achievement', object))),
    ...achievements.map(({ object, path }): ReferenceList => ({
      references: neededBy(object).map((id, index) => ({
        path: [...path, 'achievementIds', index],
        from: named('achievement', object),
        to: 'achievement',
        id,
      })),
      twice: 'is named twice',
    })),
    {
      references: document.streaks.metrics.map(({ metricId }, index) => ({
        path: ['streaks', 'metrics', index, 'metricId'],
        from: 'streaks',
        to: 'metric',
        id: metricId,
      })),
      twice: 'has two conditions',
    },
    ...leaderboards.map(({ object, path }): ReferenceList => ({
      references: object.breakdownAttributes.map((id, index) => ({
        path: [...path, 'breakdownAttributes', index],
        from: named('leaderboard', object),
        to: 'user attribute',
        id,
      })),
      twice: 'is named twice',
    })),
  ];
}

interface Filtered {
  readonly userAttributes: readonly AttributeFilter[];
  readonly eventAttributes?: readonly AttributeFilter[];
}

/** The attribute filters of an object. All filters of a list must match (model.ts): two on one attribute say the same twice, or never match. */
function filterLists(object: Filtered, path: Path, from: string): ReferenceList[] {
  const list = (field: keyof Filtered, to: ReferenceKind): ReferenceList => ({
    references: (object[field] ?? []).map(({ attributeId }, index) => ({
      path: [...path, field, index, 'attributeId'],
      from,
      to,
      id: attributeId,
    })),
    twice: 'is filtered twice, and all filters must match',
  });
  return [list('userAttributes', 'user attribute'), list('eventAttributes', 'event attribute')];
}

/** The ids of the achievements that one is made of. */
export const neededBy = (achievement: Achievement): readonly string[] =>
  achievement.trigger === 'achievement' ? achievement.achievementIds : [];
