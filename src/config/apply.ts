/** What a configuration file makes of the current configuration. Pure: nothing is read or written. */
import { utcDate } from '../shared/calendar.js';
import { type Change } from './changes.js';
import { type ConfigFile, type Placed, type PlacedPointsSystem } from './file.js';
import { Draft, type PlanOptions } from './merge.js';
import { type Achievement, type ConfigDocument, type Leaderboard, type PointsSystem, type Settings, type Webhook } from './model.js';
import { type FileProblem, named, problemsError } from './problems.js';
import { type AchievementInput, type LeaderboardInput, type WebhookInput } from './schema.js';
import {
  firstDayOf,
  type Identity,
  type Resolve,
  storedAchievement,
  storedAttribute,
  storedBoost,
  storedLeaderboard,
  storedLevel,
  storedMetric,
  storedPointsSystem,
  storedSettings,
  storedStreaks,
  storedTrigger,
  storedWebhook,
} from './stored.js';
import { achievementRefusals, leaderboardRefusals, type Refusal, scheduleRefusals } from './transitions.js';
import { validateConfig } from './validate.js';
import { privateUrlFault } from './webhook-url.js';
import { type Path } from './yaml.js';

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
 * file replaces the object with its key as a whole; one that isn't there is added, or revived if it was archived (but an archived
 * leaderboard or webhook stays archived, and its key gets a new one). Objects that the file doesn't mention are kept, or archived with `prune`;
 * levels, triggers and boosts that the lists of their system don't mention are archived in any case. Nothing is ever removed, an unchanged
 * object keeps its `updated`, and applying the same file again changes nothing.
 *
 * `file` comes from readConfigFile or parseConfigFile. Throws an OperatorError with a line for each of the file's own problems, each
 * reference that leads nowhere, and each rule that the outcome (validate.ts) or the way to it (transitions.ts) would break.
 */
export function planApply(current: ConfigDocument, file: ConfigFile, options: PlanOptions): ApplyPlan {
  const { problems, ...plan } = planChanges(current, file, options);
  if (problems.length > 0) throw problemsError(file.fileName, problems);
  return plan;
}

/** As planApply, but what is wrong is in the result: with problems, the document must not be stored. */
export function planChanges(
  current: ConfigDocument,
  file: ConfigFile,
  options: PlanOptions,
): ApplyPlan & { readonly problems: readonly FileProblem[] } {
  const draft = new Draft(current, file, options);
  const top = { absent: options.prune ? 'archive' : 'keep', within: null, comesBack: true } as const;
  const settings = draft.mergeOne('settings', current.settings, file.settings, (input) => storedSettings(input, current.settings));
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
  const achievements = draft.merge(current.achievements, file.achievements, {
    ...top,
    kind: () => 'achievement',
    make: (identity, given, existing, resolve) => mergeAchievement(draft, { identity, given, existing, resolve }),
  });
  const pointsSystems = draft.merge(current.pointsSystems, file.points, {
    ...top,
    kind: () => 'points system',
    make: (identity, { value }, existing) => storedPointsSystem(identity, value, existing),
    then: (system, given) => mergeLists(draft, system, given, options.lists === 'extended' ? 'keep' : 'archive'),
  });
  const streaks = draft.mergeOne('streaks', current.streaks, file.streaks, (input, resolve) =>
    storedStreaks(input, current.streaks, resolve),
  );
  const today = utcDate(Date.parse(options.now));
  const leaderboards = draft.merge(current.leaderboards, file.leaderboards, {
    ...top,
    kind: () => 'leaderboard',
    // Its places and values are of a time that is over.
    comesBack: false,
    make: (identity, given, existing, resolve) =>
      mergeLeaderboard(draft, { identity, given, existing, resolve }, { today, weekStart: settings.weekStart }),
  });
  const webhooks = draft.merge(current.webhooks, file.webhooks, {
    ...top,
    kind: () => 'webhook',
    // Its secret went with it.
    comesBack: false,
    make: (identity, given) => mergeWebhook(draft, identity, given, options.allowPrivateWebhooks ?? false),
  });
  const document = { nextNo: draft.nextNo, settings, attributes, metrics, pointsSystems, achievements, streaks, leaderboards, webhooks };
  draft.reportAll(document, validateConfig(document));
  const { changes, kept, problems } = draft;
  return { document: changes.length === 0 ? current : document, changes, kept, problems };
}

function mergeLists(draft: Draft, system: PointsSystem, given: PlacedPointsSystem, absent: 'keep' | 'archive'): PointsSystem {
  const nested = { absent, within: system.key, comesBack: true } as const;
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

/** An object of the file, and what it is made from. */
interface Making<T, I> {
  readonly identity: Identity;
  readonly given: Placed<I>;
  readonly existing: T | undefined;
  readonly resolve: Resolve;
}

function mergeAchievement(draft: Draft, { identity, given, existing, resolve }: Making<Achievement, AchievementInput>): Achievement {
  const achievement = storedAchievement(identity, given.value, resolve);
  if (existing) reportRefusals(draft, given.path, achievementRefusals(existing, achievement, draft.keyOf));
  return achievement;
}

function mergeLeaderboard(
  draft: Draft,
  { identity, given, existing, resolve }: Making<Leaderboard, LeaderboardInput>,
  { today, weekStart }: { readonly today: string; readonly weekStart: Settings['weekStart'] },
): Leaderboard {
  const firstDay = existing?.start ?? firstDayOf(given.value, today, weekStart);
  const board = storedLeaderboard(identity, given.value, firstDay, resolve);
  if (existing) reportRefusals(draft, given.path, leaderboardRefusals(existing, board, today, draft.keyOf));
  if (given.value.status === 'scheduled') reportRefusals(draft, given.path, scheduleRefusals(existing, board, today));
  return board;
}

function mergeWebhook(draft: Draft, identity: Identity, { value, path }: Placed<WebhookInput>, allowPrivate: boolean): Webhook {
  const fault = allowPrivate ? null : privateUrlFault(value.url);
  if (fault !== null) draft.report([...path, 'url'], `${named('webhook', identity)}: url ${fault}`);
  return storedWebhook(identity, value);
}

function reportRefusals(draft: Draft, path: Path, refusals: readonly Refusal[]): void {
  for (const { field, sentence } of refusals) draft.report([...path, field], sentence);
}
