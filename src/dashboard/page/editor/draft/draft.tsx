import { useQuery } from '@tanstack/preact-query';
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { useScope } from '../../scope/scope.js';
import { ErrorNote, Loading } from '../../ui/states.js';
import { type Configuration, fileOf, type Problem } from '../file/api.js';
import { type DraftChange, draftChanges } from './draft-changes.js';
import { FileSchema } from '../file/form-fields.js';
import { ConfigurationFrame } from './frame.js';
import { useKeptDraft, useProblems } from './kept-draft.js';
import { isSame, type Json, type JsonObject, type Path, withValueAt } from '../file/json.js';
import { problemsAfter } from '../file/problems.js';
import { StaleDraft } from './stale-draft.js';

/** The configuration with what the operator has changed and not applied yet. */
export interface Draft {
  readonly current: Configuration;
  readonly file: JsonObject;
  readonly schema: FileSchema;
  readonly changes: readonly DraftChange[];
  /** What the service found wrong with the draft when it was last reviewed. */
  readonly problems: readonly Problem[];
  readonly set: (path: Path, value: Json | undefined) => void;
  readonly replace: (file: JsonObject) => void;
  readonly discard: () => void;
  readonly setProblems: (problems: readonly Problem[]) => void;
  /** Reads the configuration again: it was applied, or is no longer the newest. */
  readonly reload: () => void;
}

const DraftContext = createContext<Draft | undefined>(undefined);

export function useDraft(): Draft {
  const draft = useContext(DraftContext);
  if (!draft) throw new Error('a form outside of a configuration');
  return draft;
}

/** Gives the screens inside it the configuration and its draft. */
export function Configuring({ children }: { readonly children: ComponentChildren }) {
  const { api } = useScope();
  const configuration = useQuery(api.admin.query('/configuration'));
  const fileSchema = useQuery(api.admin.query('/configuration/schema'));
  const schema = useMemo(() => fileSchema.data && new FileSchema(fileSchema.data as JsonObject), [fileSchema.data]);
  const reload = (): void => void configuration.refetch();
  if (!configuration.data || !schema) {
    const error = configuration.error ?? fileSchema.error;
    const retry = (): void => {
      reload();
      void fileSchema.refetch();
    };
    return error ? <ErrorNote error={error} retry={retry} /> : <Loading />;
  }
  return (
    <ConfigurationFrame>
      <WithDraft configuration={configuration.data} schema={schema} reload={reload}>
        {children}
      </WithDraft>
    </ConfigurationFrame>
  );
}

interface WithDraftProps {
  readonly configuration: Configuration;
  readonly schema: FileSchema;
  readonly reload: () => void;
  readonly children: ComponentChildren;
}

function WithDraft({ configuration, schema, reload, children }: WithDraftProps) {
  const { stored, store } = useKeptDraft();
  const [problems, setProblems] = useProblems();
  const { version } = configuration;
  const base = fileOf(configuration);
  const file = stored?.file ?? base;
  const changes = useMemo(() => draftChanges(base, file), [base, file]);
  const replace = (next: JsonObject, of = version): void => {
    store(isSame(next, base) ? undefined : { version: of, file: next, changes: draftChanges(base, next).length });
  };
  const discard = (): void => {
    store(undefined);
    setProblems([]);
  };
  const set = (path: Path, value: Json | undefined): void => {
    replace(withValueAt(file, path, value) as JsonObject);
    setProblems(problemsAfter(problems, path));
  };
  const draft = { current: configuration, file, schema, changes, problems, set, replace, discard, setProblems, reload };
  if (stored && stored.version !== version) {
    return <StaleDraft draft={stored} current={configuration} onMerged={replace} onDiscard={discard} />;
  }
  return <DraftContext.Provider value={draft}>{children}</DraftContext.Provider>;
}
