/** What a configuration file makes of the current configuration. Pure: nothing is read or written. */
import { utcDate } from '../../shared/calendar.js';
import { keepTerms } from './boost-terms.js';
import { type Change } from './changes.js';
import { type ConfigFile } from '../file/file.js';
import { kinds } from '../schema/kinds.js';
import { Draft, type Making, type PlanOptions } from './merge.js';
import {
  type ConfigDocument,
  type Leaderboard,
  type Lists,
  type Settings,
  type TopListName,
  type Webhook,
  listIn,
} from '../schema/model.js';
import { type FileProblem, problemsError } from '../file/problems.js';
import { achievementProblems, firstDayOf, leaderboardProblems, type Refusal, scheduleProblems } from './transitions.js';
import { validateConfig } from '../check/validate.js';
import { receiverFault, type WebhookReceivers } from '../schema/webhook-url.js';

export { type PlanOptions } from './merge.js';

export interface ApplyPlan {
  /** `current` itself if nothing changes. */
  readonly document: ConfigDocument;
  readonly changes: readonly Change[];
  /** What the file doesn't mention and is kept, as describeChanges names it: `metric pages-read`. */
  readonly kept: readonly string[];
}

/**
 * Plans what applying a file does (docs/configuration.md, "What applying does"). An object of the
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
  const merge = <N extends TopListName>(list: N, complete?: (making: Making<Lists[N]>) => Lists[N]): readonly Lists[N][] =>
    draft.merge({
      kind: kinds[list],
      existing: listIn(current, list),
      given: file[list],
      absent: options.prune ? 'archive' : 'keep',
      within: null,
      ...(complete ? { complete } : {}),
    });
  const today = utcDate(Date.parse(options.now));
  const settings = draft.mergeSingle('settings', current.settings, file.settings);
  // What others refer to comes first, so that its ids are known.
  const attributes = merge('attributes');
  const metrics = merge('metrics');
  const achievements = merge('achievements', ({ made, existing, report }) => {
    if (existing) reportAll(report, achievementProblems(existing, made));
    return made;
  });
  const pointsSystems = merge('pointsSystems');
  const streaks = draft.mergeSingle('streaks', current.streaks, file.streaks);
  const leaderboards = merge('leaderboards', (making) => mergeLeaderboard(making, { today, weekStart: settings.weekStart, draft }));
  const webhooks = merge('webhooks', (making) => mergeWebhook(making, options.webhookReceivers ?? 'public'));
  const messages = draft.mergeSingle('messages', current.messages, file.messages);
  const templates = merge('templates');
  const document = {
    nextNo: draft.nextNo,
    settings,
    attributes,
    metrics,
    pointsSystems,
    achievements,
    streaks,
    leaderboards,
    webhooks,
    messages,
    templates,
  };
  draft.reportAll(document, validateConfig(document));
  const { changes, kept, problems } = draft;
  return { document: changes.length === 0 ? current : keepTerms(current, document), changes, kept, problems };
}

interface LeaderboardContext {
  readonly today: string;
  readonly weekStart: Settings['weekStart'];
  readonly draft: Draft;
}

function mergeLeaderboard(
  { made, existing, given, report }: Making<Leaderboard>,
  { today, weekStart, draft }: LeaderboardContext,
): Leaderboard {
  const board = { ...made, start: made.start || (existing?.start ?? firstDayOf(made, today, weekStart)) };
  if (existing) reportAll(report, leaderboardProblems(existing, board, today, draft.keyOf));
  if (given['status'] === 'scheduled') reportAll(report, scheduleProblems(existing, board, today));
  return board;
}

function mergeWebhook({ made, report }: Making<Webhook>, receivers: WebhookReceivers): Webhook {
  const message = receiverFault(made.url, receivers);
  if (message !== null) report('url', { code: 'invalid_value', field: ['url'], message });
  return made;
}

function reportAll(report: Making<unknown>['report'], refusals: readonly Refusal[]): void {
  for (const { field, problem } of refusals) report(field, problem);
}
