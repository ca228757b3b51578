/** A configuration file, from text to objects that know where they stand. */
import { limits } from '../shared/limits.js';
import { ObjectParser, type Placed } from './objects.js';
import { type FileProblem, problemsError } from './problems.js';
import {
  type AchievementInput,
  achievementSchema,
  type AttributeInput,
  attributeSchema,
  type BoostInput,
  boostSchema,
  configFileSchema,
  type LeaderboardInput,
  leaderboardSchema,
  type LevelInput,
  levelSchema,
  type MetricInput,
  metricSchema,
  type PointsSystemInput,
  pointsSystemSchema,
  type SettingsInput,
  settingsSchema,
  type StreaksInput,
  streaksSchema,
  type TriggerInput,
  triggerSchema,
  type WebhookInput,
  webhookSchema,
} from './schema.js';
import { type Path, type Position, readYaml } from './yaml.js';

export { type Placed } from './objects.js';

export interface PlacedPointsSystem extends Placed<PointsSystemInput> {
  readonly levels: readonly Placed<LevelInput>[];
  readonly triggers: readonly Placed<TriggerInput>[];
  readonly boosts: readonly Placed<BoostInput>[];
}

/**
 * A parsed file. Keys are unique in it. With `problems`, it holds what could be understood, so that rules between objects can be
 * checked as well and everything be reported at once; it must not be applied then.
 */
export interface ConfigFile {
  readonly fileName: string;
  readonly settings: Placed<SettingsInput> | null;
  readonly attributes: readonly Placed<AttributeInput>[];
  readonly metrics: readonly Placed<MetricInput>[];
  readonly points: readonly PlacedPointsSystem[];
  readonly achievements: readonly Placed<AchievementInput>[];
  readonly streaks: Placed<StreaksInput> | null;
  readonly leaderboards: readonly Placed<LeaderboardInput>[];
  readonly webhooks: readonly Placed<WebhookInput>[];
  readonly problems: readonly FileProblem[];
  /** Where the value at a path stands, or the innermost object around a value that isn't there. */
  readonly locate: (path: Path) => Position;
}

/**
 * Reads a configuration file (issue 2, "Configuration as a file"; docs/configuration.md).
 *
 * `text` is the whole file; `fileName` is what messages call it. Throws an OperatorError with a line `FILE:LINE:COLUMN: sentence` for
 * each thing that is wrong with the file by itself. What it refers to is checked by planApply.
 */
export function readConfigFile(text: string, fileName: string): ConfigFile {
  const file = parseConfigFile(text, fileName);
  if (file.problems.length > 0) throw problemsError(fileName, file.problems);
  return file;
}

/**
 * As readConfigFile, but problems of the objects are in the result, for planApply to report with its own. Throws an OperatorError only
 * for a text in which no objects can be told apart: empty, too large, not YAML, not a map.
 */
export function parseConfigFile(text: string, fileName: string): ConfigFile {
  const refuse = (sentence: string) => problemsError(fileName, [{ position: null, sentence, path: null }]);
  if (Buffer.byteLength(text) > limits.maxConfigFileBytes) throw refuse(`the file is larger than ${limits.maxConfigFileBytes} bytes`);
  const yaml = readYaml(text);
  const faults = yaml.faults.map(({ sentence, line, column }) => ({ sentence, position: { line, column }, path: null }));
  if (yaml.value === undefined) throw problemsError(fileName, faults);
  if (yaml.value === null) throw refuse('the file is empty');

  return configFileOf(yaml.value, { fileName, locate: yaml.locate, faults });
}

interface Origin {
  readonly fileName: string;
  readonly locate: (path: Path, name?: boolean) => Position;
  readonly faults: readonly FileProblem[];
}

const nowhere: Origin = { fileName: 'the configuration', locate: () => ({ line: 1, column: 1 }), faults: [] };

/**
 * What a file with these contents would say: plain values, as a YAML file has them, by the names of its parts. Without an origin they
 * come from no file, and the positions of problems mean nothing. Throws an OperatorError for contents in which no objects can be told apart.
 */
export function configFileOf(contents: unknown, { fileName, locate, faults }: Origin = nowhere): ConfigFile {
  const parser = new ObjectParser(locate, faults);
  const [root] = parser.object(configFileSchema, contents, [], '');
  if (!root) throw problemsError(fileName, parser.problems);
  return {
    fileName,
    settings: parser.single(settingsSchema, root.settings, 'settings'),
    attributes: parser.list(attributeSchema, root.attributes, { path: ['attributes'], kind: 'attribute', standIns: attributeStandIns }),
    metrics: parser.list(metricSchema, root.metrics, { path: ['metrics'], kind: 'metric', standIns: [{ name }] }),
    points: parser
      .list(pointsSystemSchema, root.points, { path: ['points'], kind: 'points system', standIns: [{ name }], keepsUnnamed: true })
      .map((system) => ({ ...system, ...parseLists(parser, system) })),
    achievements: parser.list(achievementSchema, root.achievements, {
      path: ['achievements'],
      kind: 'achievement',
      standIns: ['metric', 'streak', 'api', 'achievement'].map((trigger) => ({ name, trigger, metricValue: 1, streakLength: 1 })),
    }),
    streaks: parser.single(streaksSchema, root.streaks, 'streaks'),
    leaderboards: parser.list(leaderboardSchema, root.leaderboards, {
      path: ['leaderboards'],
      kind: 'leaderboard',
      standIns: [{ name, start: firstDay }],
    }),
    webhooks: parser.list(webhookSchema, root.webhooks, { path: ['webhooks'], kind: 'webhook', standIns: [webhookStandIn] }),
    problems: parser.problems,
    locate: (path) => locate(path),
  };
}

/** What stands in for a field that was refused: whatever breaks no rule. A key, a reference and the points of a level have no such value. */
const name = 'unnamed';
const firstDay = '0001-01-01';
const webhookStandIn = { name, url: 'https://example.com/', events: ['points.changed'] };
/** An attribute of a type that does not exist may have been meant as either; a trigger, as whichever has the fields that it has. */
const attributeStandIns = (['user', 'event'] as const).map((type) => ({ name, type }));
const triggerStandIns = (['metric', 'achievement', 'streak', 'time', 'user_creation'] as const).map((type) => ({
  type,
  points: -1,
  metricThreshold: 1,
  streakLength: 1,
  timeUnit: 'days',
  timeInterval: 1,
}));

function parseLists(parser: ObjectParser, { value, path }: Placed<PointsSystemInput>): Omit<PlacedPointsSystem, 'value' | 'path'> {
  return {
    levels: parser.list(levelSchema, value.levels, { path: [...path, 'levels'], kind: 'level', standIns: [{ name }] }),
    triggers: parser.list(triggerSchema, value.triggers, {
      path: [...path, 'triggers'],
      kind: 'trigger',
      standIns: triggerStandIns,
    }),
    boosts: parser.list(boostSchema, value.boosts, {
      path: [...path, 'boosts'],
      kind: 'boost',
      standIns: [{ name, start: firstDay, multiplier: 2 }],
    }),
  };
}
