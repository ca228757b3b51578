/** Changes of a configuration that an operator makes in a history. An edit that finds nothing to change, or would break a rule, changes nothing. */
import {
  listIn,
  type AttributeFilter,
  type ConfigDocument,
  type ConfigObject,
  type Leaderboard,
  type ListName,
  type NestedListName,
  type TopListName,
} from '../../../src/config/schema/model.js';
import { keepTerms } from '../../../src/config/change/boost-terms.js';
import { achievementProblems, leaderboardProblems } from '../../../src/config/change/transitions.js';
import { validateConfig } from '../../../src/config/check/validate.js';
import { dateOf, dayMs } from './time.js';
import { byId } from './world.js';

/** An object by its key, or by its position among those that the edit can be about, counted on from the start again beyond the end. */
type Which = number | string;

/**
 * Values name what they refer to by keys, filters are `{city: 'Nuuk'}`, conditions of streaks `{m1: 5}`, days so many days from now.
 */
export type Edit =
  /** One field of what there is one of. A part of `freezes` is changed in the others. */
  | { readonly edit: 'set'; readonly part: 'settings' | 'streaks' | 'messages'; readonly field: string; readonly value: unknown }
  /** One field of an object in use that has it. Positions are counted over all points systems. */
  | { readonly edit: 'change'; readonly list: ListName; readonly which: Which; readonly field: string; readonly value: unknown }
  /** Archives an object in use, and takes it out of what refers to it. */
  | { readonly edit: 'archive'; readonly list: ListName; readonly which: Which }
  /** What is archived comes back. */
  | { readonly edit: 'revive'; readonly list: ListName; readonly which: Which }
  /** A new object like one that there is. An archived leaderboard has its key for it. */
  | { readonly edit: 'add'; readonly list: 'triggers' | 'levels' | 'boosts' | 'achievements' | 'leaderboards'; readonly which: Which }
  /** An object of a list becomes the first. */
  | { readonly edit: 'first'; readonly list: ListName; readonly which: Which };

type Fields = Readonly<Record<string, unknown>>;
type Plain = ConfigObject & Fields;
type List = readonly Plain[];

const nested: readonly string[] = ['levels', 'triggers', 'boosts'] satisfies NestedListName[];
const plainList = (owner: object, list: ListName): List => listIn(owner, list) as unknown as List;

/** Every object of a list, those of points systems in the order of these. */
const all = (document: ConfigDocument, list: ListName): List =>
  nested.includes(list) ? document.pointsSystems.flatMap((system) => plainList(system, list)) : plainList(document, list);

/** The objects of a list that an operator can change: those of an archived points system are out of reach. */
const inReach = (document: ConfigDocument, list: ListName): List =>
  nested.includes(list)
    ? document.pointsSystems.filter(({ archived }) => !archived).flatMap((system) => plainList(system, list))
    : plainList(document, list);

function pick(objects: List, which: Which): Plain | undefined {
  return typeof which === 'string' ? objects.find(({ key }) => key === which) : objects[which % Math.max(1, objects.length)];
}

/** The document with every list of that name changed. */
function withLists(document: ConfigDocument, list: ListName, change: (objects: List) => List): ConfigDocument {
  if (!nested.includes(list)) return { ...document, [list]: change(plainList(document, list)) };
  const pointsSystems = document.pointsSystems.map((system) => ({ ...system, [list]: change(plainList(system, list)) }));
  return { ...document, pointsSystems };
}

const replace = (document: ConfigDocument, list: ListName, object: Plain): ConfigDocument =>
  withLists(document, list, (objects) => objects.map((old) => (old.id === object.id ? object : old)));

/** The ids of the keys of what is in use; archived namesakes do not count. */
const idOf = (document: ConfigDocument, list: TopListName, key: string, isMeant: (object: Plain) => boolean = () => true): string =>
  plainList(document, list).find((object) => object.key === key && !object.archived && isMeant(object))?.id ?? '';

const attributeId = (document: ConfigDocument, type: 'user' | 'event', key: string): string =>
  idOf(document, 'attributes', key, (object) => object['type'] === type);

const filtersOf = (document: ConfigDocument, type: 'user' | 'event', value: unknown): AttributeFilter[] =>
  Object.entries(value as Readonly<Record<string, string>>).map(([key, attributeValue]) => ({
    attributeId: attributeId(document, type, key),
    attributeValue,
  }));

/** What is stored for a value of an edit: ids for keys, dates for days. */
function stored(document: ConfigDocument, field: string, value: unknown, nowMs: number): unknown {
  if (value === null) return null;
  switch (field) {
    case 'userAttributes':
      return filtersOf(document, 'user', value);
    case 'eventAttributes':
      return filtersOf(document, 'event', value);
    case 'breakdownAttributes':
      return (value as readonly string[]).map((key) => attributeId(document, 'user', key));
    case 'localeAttribute':
      return attributeId(document, 'user', value as string);
    case 'metricId':
      return idOf(document, 'metrics', value as string);
    case 'pointsSystemId':
      return idOf(document, 'pointsSystems', value as string);
    case 'achievementId':
      return idOf(document, 'achievements', value as string);
    case 'achievementIds':
      return (value as readonly string[]).map((key) => idOf(document, 'achievements', key));
    case 'metrics':
      return Object.entries(value as Readonly<Record<string, number>>).map(([key, threshold]) => ({
        metricId: idOf(document, 'metrics', key),
        threshold,
      }));
    case 'start':
    case 'end':
      return dateOf(Math.floor(nowMs / dayMs) + (value as number));
    default:
      return value;
  }
}

/** The fields that an object gets with another type, and those that it loses. */
function variantOf(document: ConfigDocument, type: string, id: string): Fields {
  const metricId = document.metrics.find(({ archived }) => !archived)?.id ?? '';
  const variants: Readonly<Record<string, Fields>> = {
    'type metric': { metricId, metricThreshold: 3, eventAttributes: [], blockIfOutOfPoints: false },
    'type streak': { streakLength: 2 },
    'type achievement': { achievementId: document.achievements.find(({ archived }) => !archived)?.id ?? '' },
    'type time': { timeUnit: 'days', timeInterval: 1 },
    'type user_creation': {},
    'trigger metric': { metricId, metricValue: 5, eventAttributes: [] },
    'trigger streak': { streakLength: 2 },
    'trigger api': {},
    'trigger anniversary': { anniversaryYears: 2 },
    'trigger achievement': {
      achievementIds: document.achievements
        .filter((one) => !one.archived && one.id !== id)
        .map((one) => one.id)
        .slice(0, 1),
    },
    'rankBy metric': { metricId },
    'rankBy points': { pointsSystemId: document.pointsSystems.find(({ archived }) => !archived)?.id ?? '' },
    'rankBy streak': { runUnit: null, runInterval: 0 },
  };
  return variants[type] ?? {};
}
const variantFields = {
  type: [
    'metricId',
    'metricThreshold',
    'eventAttributes',
    'blockIfOutOfPoints',
    'streakLength',
    'achievementId',
    'timeUnit',
    'timeInterval',
  ],
  trigger: ['metricId', 'metricValue', 'eventAttributes', 'streakLength', 'achievementIds', 'anniversaryYears'],
  rankBy: ['metricId', 'pointsSystemId'],
} as const;

function changedObject(document: ConfigDocument, edit: Extract<Edit, { edit: 'change' }>, object: Plain, nowMs: number): Plain {
  const { list, field } = edit;
  const value = stored(document, field, edit.value, nowMs);
  const by = list === 'triggers' && field === 'type' ? 'type' : field === 'rankBy' || field === 'trigger' ? field : undefined;
  if (by !== undefined && object[field] !== value) {
    const lost: readonly string[] = variantFields[by];
    const kept = Object.fromEntries(Object.entries(object).filter(([name]) => !lost.includes(name)));
    return { ...(kept as Plain), [field]: value, ...variantOf(document, `${field} ${String(value)}`, object.id) };
  }
  // Runs have a unit and an interval, or neither.
  if (field === 'runUnit') {
    const interval = value === null ? 0 : Math.max(1, Number(object['runInterval']));
    return { ...object, runUnit: value, runInterval: interval };
  }
  return { ...object, [field]: value };
}

function change(document: ConfigDocument, edit: Extract<Edit, { edit: 'change' }>, nowMs: number): ConfigDocument {
  const object = pick(
    inReach(document, edit.list).filter((one) => !one.archived && edit.field in one),
    edit.which,
  );
  if (!object) return document;
  const next = changedObject(document, edit, object, nowMs);
  if (JSON.stringify(next) === JSON.stringify(object)) return document;
  return replace(document, edit.list, { ...next, updated: new Date(nowMs).toISOString() });
}

function set(document: ConfigDocument, { part, field, value }: Extract<Edit, { edit: 'set' }>, nowMs: number): ConfigDocument {
  const before = document[part] as unknown as Fields;
  const next = stored(document, field, value, nowMs);
  const isPart = part === 'streaks' && field === 'freezes';
  const emptied = part === 'streaks' && field === 'frequency' && value !== 'daily' ? { daysOff: [] } : {};
  return { ...document, [part]: { ...before, ...emptied, [field]: isPart ? { ...document.streaks.freezes, ...(next as object) } : next } };
}

/** What is left of an object when others have been archived: null where it is archived with them. */
function without(object: Plain, gone: ReadonlySet<string>): Plain | null {
  const isGone = (field: string): boolean => typeof object[field] === 'string' && gone.has(object[field]);
  const ids = (object['achievementIds'] ?? []) as readonly string[];
  const breakdown = (object['breakdownAttributes'] ?? []) as readonly string[];
  const needed = ids.filter((id) => !gone.has(id));
  if (['metricId', 'pointsSystemId', 'achievementId'].some(isGone)) return null;
  if (breakdown.some((id) => gone.has(id)) || (ids.length > 0 && needed.length === 0)) return null;
  const kept = (field: string): Fields =>
    field in object ? { [field]: (object[field] as readonly AttributeFilter[]).filter((filter) => !gone.has(filter.attributeId)) } : {};
  return { ...object, ...kept('userAttributes'), ...kept('eventAttributes'), ...(ids.length > 0 ? { achievementIds: needed } : {}) };
}

/** Archives an object and, in the same version, what can't be without it; the rest no longer refers to it. */
function archive(document: ConfigDocument, list: ListName, target: Plain, updated: string): ConfigDocument {
  const gone = new Set([target.id]);
  let next = replace(document, list, { ...target, archived: true, updated });
  let size = 0;
  while (size < gone.size) {
    size = gone.size;
    for (const each of ['triggers', 'boosts', 'achievements', 'leaderboards'] as const) {
      next = withLists(next, each, (objects) =>
        objects.map((object) => {
          if (object.archived) return object;
          const left = without(object, gone);
          if (left === null) gone.add(object.id);
          const changed = left ?? { ...object, archived: true };
          return JSON.stringify(changed) === JSON.stringify(object) ? object : { ...changed, updated };
        }),
      );
    }
  }
  const { streaks, messages } = next;
  return {
    ...next,
    streaks: { ...streaks, metrics: streaks.metrics.filter(({ metricId }) => !gone.has(metricId)) },
    messages: { ...messages, localeAttribute: gone.has(messages.localeAttribute ?? '') ? null : messages.localeAttribute },
  };
}

/** A new object like another one, at the end of its list. */
function add(document: ConfigDocument, list: ListName, model: Plain, now: string): ConfigDocument {
  const no = document.nextNo;
  const isFree = list === 'leaderboards' && !inReach(document, list).some(({ key, archived }) => key === model.key && !archived);
  const added: Plain = {
    ...model,
    ...{ id: `00000000-0000-4000-9000-${String(no).padStart(12, '0')}`, no, key: isFree ? model.key : `${model.key}-${no}` },
    ...{ created: now, updated: now, archived: false },
    // No two levels share their points.
    ...(list === 'levels' ? { points: Number(model['points']) + 1 + (no % 7) } : {}),
    ...(list === 'boosts' ? { numbers: undefined, earlier: undefined } : {}),
  };
  const next = withLists(document, list, (objects) => (objects.some(({ id }) => id === model.id) ? [...objects, added] : objects));
  return { ...next, nextNo: no + 1 };
}

function edited(document: ConfigDocument, edit: Edit, nowMs: number): ConfigDocument {
  const now = new Date(nowMs).toISOString();
  switch (edit.edit) {
    case 'set':
      return set(document, edit, nowMs);
    case 'change':
      return change(document, edit, nowMs);
    case 'archive': {
      const target = pick(
        inReach(document, edit.list).filter(({ archived }) => !archived),
        edit.which,
      );
      return target ? archive(document, edit.list, target, now) : document;
    }
    case 'revive': {
      const target = pick(
        inReach(document, edit.list).filter(({ archived }) => archived),
        edit.which,
      );
      const comesBack = edit.list !== 'leaderboards' && edit.list !== 'webhooks';
      return target && comesBack ? replace(document, edit.list, { ...target, archived: false, updated: now }) : document;
    }
    case 'add': {
      const model = pick(inReach(document, edit.list), edit.which);
      return model ? add(document, edit.list, model, now) : document;
    }
    case 'first': {
      const target = pick(inReach(document, edit.list), edit.which);
      const isIt = ({ id }: Plain): boolean => id === target?.id;
      return withLists(document, edit.list, (objects) => [...objects.filter(isIt), ...objects.filter((object) => !isIt(object))]);
    }
  }
}

/** Whether the rules allow what an object of a list becomes. */
function isAllowed(before: ConfigDocument, after: ConfigDocument, nowMs: number): boolean {
  const today = dateOf(Math.floor(nowMs / dayMs));
  const keyOf = (_: string, id: string): string => id;
  const isFine = (was: Leaderboard): boolean => leaderboardProblems(was, byId(after.leaderboards, was.id), today, keyOf).length === 0;
  const faults = (document: ConfigDocument): string[] => validateConfig(document).map(({ code, path }) => `${code} ${path.join('.')}`);
  const known = new Set(faults(before));
  return (
    before.leaderboards.every(isFine) &&
    before.achievements.every((was) => achievementProblems(was, byId(after.achievements, was.id)).length === 0) &&
    faults(after).every((fault) => known.has(fault))
  );
}

/** The document after an edit made at a moment; it is `document` itself, or equal to it, if there is nothing to change. */
export function applyEdit(document: ConfigDocument, edit: Edit, nowMs: number): ConfigDocument {
  const next = edited(document, edit, nowMs);
  return next !== document && isAllowed(document, next, nowMs) ? keepTerms(document, next) : document;
}

/** The fields in which two documents differ: `settings.weekStart`, `triggers.points`, `streaks.freezes.initial`, `levels.archived true`. */
export function changedFields(before: ConfigDocument, after: ConfigDocument): string[] {
  const differing = (was: Fields, is: Fields): string[] =>
    [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((field) => JSON.stringify(was[field]) !== JSON.stringify(is[field]));
  const ofParts = (['settings', 'streaks', 'messages'] as const).flatMap((part) =>
    differing(before[part] as unknown as Fields, after[part] as unknown as Fields).map((field) => `${part}.${field}`),
  );
  const { freezes } = before.streaks;
  const ofFreezes = differing({ ...freezes }, { ...after.streaks.freezes }).map((field) => `streaks.freezes.${field}`);
  const lists = [
    'attributes',
    'metrics',
    'pointsSystems',
    'levels',
    'triggers',
    'boosts',
    'achievements',
    'leaderboards',
    'webhooks',
    'templates',
  ];
  const ofLists = (lists as ListName[]).flatMap((list) =>
    all(before, list).flatMap((was) => {
      const is = all(after, list).find(({ id }) => id === was.id);
      return is ? differing(was, is).map((field) => `${list}.${field}${field === 'archived' ? ` ${is.archived}` : ''}`) : [];
    }),
  );
  return [...ofParts, ...ofFreezes, ...ofLists];
}
