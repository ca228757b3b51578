/** What a configuration file makes of the current configuration. Pure: nothing is read or written. */
import { utcDate } from '../calendar.js';
import { type Change } from './changes.js';
import { type ConfigFile, type Placed, type PlacedPointsSystem } from './file.js';
import { Draft, type PlanOptions } from './merge.js';
import { type ConfigDocument, type Leaderboard, type PointsSystem } from './model.js';
import { problemsError } from './problems.js';
import { type LeaderboardInput } from './schema.js';
import {
  type Identity,
  type Resolve,
  storedAttribute,
  storedBoost,
  storedLeaderboard,
  storedLevel,
  storedMetric,
  storedPointsSystem,
  storedTrigger,
} from './stored.js';
import { validateConfig } from './validate.js';

export { type PlanOptions } from './merge.js';

export interface ApplyPlan {
  /** `current` itself if nothing changes. */
  readonly document: ConfigDocument;
  readonly changes: readonly Change[];
  /** What the file doesn't mention and is kept, as describeChanges names it: `metric pages-read`. */
  readonly kept: readonly string[];
}

/**
 * Plans what applying a file does (issue 2, "Configuration as a file"; docs/configuration.md, "What applying does"). An object of the
 * file replaces the object with its key as a whole; one that isn't there is added, or revived if it was archived. Objects that the file
 * doesn't mention are kept, or archived with `prune`; levels, triggers and boosts that the lists of their system don't mention are
 * archived in any case. Nothing is ever removed, an unchanged object keeps its `updated`, and applying the same file again changes
 * nothing.
 *
 * `file` comes from readConfigFile or parseConfigFile. Throws an OperatorError with a line for each of the file's own problems, each
 * reference that leads nowhere, and each rule that the outcome would break (validate.ts).
 */
export function planApply(current: ConfigDocument, file: ConfigFile, options: PlanOptions): ApplyPlan {
  const draft = new Draft(current, file, options);
  const top = { absent: options.prune ? 'archive' : 'keep', within: null } as const;
  const settings = mergeSettings(draft, current, file);
  // What others refer to comes first, so that its ids are known.
  const attributes = draft.merge(current.attributes, file.attributes, {
    ...top,
    kind: ({ type }) => `${type} attribute`,
    make: (identity, { value }) => storedAttribute(identity, value),
  });
  const metrics = draft.merge(current.metrics, file.metrics, {
    ...top,
    kind: () => 'metric',
    make: (identity, { value }) => storedMetric(identity, value),
  });
  const pointsSystems = draft.merge(current.pointsSystems, file.points, {
    ...top,
    kind: () => 'points system',
    make: (identity, { value }, existing) => storedPointsSystem(identity, value, existing),
    then: (system, given) => mergeLists(draft, system, given),
  });
  const today = utcDate(Date.parse(options.now));
  const leaderboards = draft.merge(current.leaderboards, file.leaderboards, {
    ...top,
    kind: () => 'leaderboard',
    make: (identity, given, existing, resolve) => mergeLeaderboard(draft, { identity, given, existing, today, resolve }),
  });
  const document: ConfigDocument = { nextNo: draft.nextNo, settings, attributes, metrics, pointsSystems, leaderboards };
  draft.reportAll(document, validateConfig(document));
  if (draft.problems.length > 0) throw problemsError(file.fileName, draft.problems);
  return { document: draft.changes.length === 0 ? current : document, changes: draft.changes, kept: draft.kept };
}

/** A setting that the file doesn't mention stays as it is. */
function mergeSettings(draft: Draft, { settings }: ConfigDocument, file: ConfigFile): ConfigDocument['settings'] {
  const from = settings.controlRatio;
  const to = file.settings?.value.controlRatio ?? from;
  if (from === to) return settings;
  draft.changes.push({ action: 'change', kind: 'settings', fields: [{ field: 'controlRatio', from, to }] });
  return { ...settings, controlRatio: to };
}

function mergeLists(draft: Draft, system: PointsSystem, given: PlacedPointsSystem): PointsSystem {
  const nested = { absent: 'archive', within: system.key } as const;
  const levels = draft.merge(system.levels, given.levels, {
    ...nested,
    kind: () => 'level',
    make: (identity, { value }) => storedLevel(identity, value),
  });
  const triggers = draft.merge(system.triggers, given.triggers, {
    ...nested,
    kind: () => 'trigger',
    make: (identity, { value }, _existing, resolve) => storedTrigger(identity, value, resolve),
  });
  const boosts = draft.merge(system.boosts, given.boosts, {
    ...nested,
    kind: () => 'boost',
    make: (identity, { value }, _existing, resolve) => storedBoost(identity, value, resolve),
  });
  const unchanged = levels === system.levels && triggers === system.triggers && boosts === system.boosts;
  return unchanged ? system : { ...system, levels, triggers, boosts };
}

interface GivenLeaderboard {
  readonly identity: Identity;
  readonly given: Placed<LeaderboardInput>;
  readonly existing: Leaderboard | undefined;
  readonly today: string;
  readonly resolve: Resolve;
}

/** What a leaderboard ranks by, as a file says it. */
const subject = (board: Leaderboard): { field: string; kind: string; id: string } =>
  board.rankBy === 'metric'
    ? { field: 'metricKey', kind: 'metric', id: board.metricId }
    : { field: 'pointsSystemKey', kind: 'points system', id: board.pointsSystemId };

/** A board stays with what it ranks by: ranked by anything else, the values that it holds would mean something that they never were. */
function mergeLeaderboard(draft: Draft, { identity, given, existing, today, resolve }: GivenLeaderboard): Leaderboard {
  const board = storedLeaderboard(identity, given.value, existing, today, resolve);
  if (!existing || subject(existing).id === subject(board).id) return board;
  const { field, kind, id } = subject(existing);
  const at = existing.rankBy === board.rankBy ? field : 'rankBy';
  const sentence = `leaderboard ${JSON.stringify(board.key)}: it ranks by ${kind} ${JSON.stringify(draft.keyOf(id))} for good: a board that ranks by something else needs another key`;
  draft.report([...given.path, at], sentence);
  return board;
}
