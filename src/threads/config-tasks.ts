import { randomUUID } from 'node:crypto';
import { parse } from '@hapi/bourne';
import { describeChanges } from '../config/change/changes.js';
import { compareConfigs } from '../config/change/compare.js';
import {
  archiveObject,
  changeSettings,
  createObject,
  type EditContext,
  EditRefusal,
  fitsIntoFile,
  type Place,
  updateObject,
} from '../config/change/edits.js';
import { exportConfig, fileContents } from '../config/file/export.js';
import type { SingleName } from '../config/schema/kinds.js';
import type { ConfigDocument, ConfigObject, ConfigVersion } from '../config/schema/model.js';
import { type Contents, planContents, type PlannedContents, problemsSentence, readContents } from '../config/change/plan-contents.js';
import { type FileProblem, fileSentence } from '../config/file/problems.js';
import { type Difference, differenceOf } from '../config/store/versions.js';
import type { Path } from '../config/file/yaml.js';
import { type Compiled, compiled } from '../plan/active-config.js';

/** The context of an edit without its source of ids. */
export type PlanContext = Omit<EditContext, 'newId'>;

/** A problem of a file in words. */
interface ShownProblem {
  readonly message: string;
  readonly path: Path | null;
  readonly line: number | null;
  readonly column: number | null;
}

/** A file, as its contents or as their JSON. */
export type FileOrder = ({ readonly file: Contents; readonly isJson: false } | { readonly file: string; readonly isJson: true }) & {
  readonly document: ConfigDocument;
  readonly prune: boolean;
  readonly context: PlanContext;
};

export interface FilePlan extends Pick<PlannedContents, 'changes' | 'kept'> {
  /** Null if nothing changes. */
  readonly document: ConfigDocument | null;
  readonly lines: readonly string[];
  readonly problems: readonly ShownProblem[];
  /** All problems in one sentence; null without any. */
  readonly sentence: string | null;
}

/** A change of one object, or of the settings. */
export type Edit =
  | { readonly create: object }
  | { readonly update: { readonly id: string; readonly key?: string | undefined } }
  | { readonly archive: string }
  | { readonly settings: SingleName; readonly fields: object };

/** What became of an edit: the object that it created or changed, null without one; or why it was refused. */
export type Edited = { readonly object: ConfigObject | null } | { readonly refusal: string };

export interface EditOrder {
  readonly document: ConfigDocument;
  readonly context: PlanContext;
  readonly place: Place | null;
  readonly edits: readonly Edit[];
}

/** A document after edits, or the same one, and what became of each of them. */
export interface EditReply {
  readonly document: ConfigDocument;
  readonly isChanged: boolean;
  readonly outcomes: readonly Edited[];
}

const withIds = (context: PlanContext): EditContext => ({ ...context, newId: randomUUID });

const shown = ({ problem, position, path, unknown }: FileProblem): ShownProblem => ({
  message: fileSentence(problem),
  path: unknown ?? path,
  line: position?.line ?? null,
  column: position?.column ?? null,
});

function edited(document: ConfigDocument, { place, context }: Pick<EditOrder, 'place' | 'context'>, edit: Edit) {
  if ('settings' in edit) return { document: changeSettings(document, edit.settings, edit.fields, withIds(context)), object: null };
  if (!place) throw new Error('an edit of an object without its list');
  if ('create' in edit) return createObject(document, place, edit.create, withIds(context));
  if ('update' in edit) return updateObject(document, place, edit.update, withIds(context));
  return { document: archiveObject(document, place, edit.archive, withIds(context)), object: null };
}

/** Work on whole configurations, which takes up to a second for the largest. */
export const configTasks = {
  /** Plans what a file makes of a document. With problems, the document must not be stored. */
  plan: ({ document, file, isJson, prune, context }: FileOrder): FilePlan => {
    const contents = isJson ? (parse(file) as object) : file;
    const { problems, changes, kept, ...plan } = planContents(document, readContents(contents), { ...withIds(context), prune });
    const isBad = problems.length > 0;
    return {
      document: plan.document === document ? null : plan.document,
      changes: isBad ? [] : changes,
      lines: isBad ? [] : describeChanges(changes),
      kept: isBad ? [] : kept,
      problems: problems.map(shown),
      sentence: isBad ? problemsSentence(problems) : null,
    };
  },
  /** Applies edits in order, each to the outcome of those before it. */
  edit: ({ document: before, edits, ...order }: EditOrder): EditReply => {
    let document = before;
    const outcomes = edits.map((edit): Edited => {
      try {
        const { document: after, object } = edited(document, order, edit);
        document = after;
        return { object };
      } catch (error) {
        if (error instanceof EditRefusal) return { refusal: error.message };
        throw error;
      }
    });
    return { document, isChanged: document !== before, outcomes };
  },
  exportFile: (document: ConfigDocument): string => exportConfig(document),
  fits: (document: ConfigDocument): boolean => fitsIntoFile(document),
  /** The JSON of an object with the contents of a document as a file, and with what it changes of another one. */
  describe: ({ document, from }: { document: ConfigDocument; from: ConfigDocument | null }): string => {
    const changes = from && compareConfigs(from, document);
    return JSON.stringify({ file: fileContents(document), ...(changes && { changes, lines: describeChanges(changes) }) });
  },
  summarize: ({ from, to }: { from: ConfigDocument; to: ConfigDocument }): Difference => differenceOf(from, to),
  compile: (version: ConfigVersion): Compiled => compiled(version),
};
