import { skipToken, useQuery, useQueryClient } from '@tanstack/preact-query';
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useMemo, useState } from 'preact/hooks';
import { type Scope, useScope } from '../../scope/scope.js';
import { ErrorNote, Loading } from '../../ui/states.js';
import { useUnloadWarning } from '../../ui/unload-warning.js';
import { type Configuration, fileOf, type Problem } from '../file/api.js';
import { DraftBar } from './draft-bar.js';
import { type DraftChange, draftChanges } from './draft-changes.js';
import { type DraftOwner, draftName, loadDraft, saveDraft, type StoredDraft } from './draft-storage.js';
import { FileSchema } from '../file/form-fields.js';
import { ConfigurationFrame } from './frame.js';
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

/** Whose draft it is; the tenant is that of the address, or of the key. */
const draftOwner = ({ tenant, session: { key } }: Pick<Scope, 'tenant' | 'session'>): DraftOwner => ({
  key: key.id,
  tenant: tenant ?? key.tenantId ?? undefined,
});

/** The problems of the last review, which the forms show. */
function useProblems(): [problems: readonly Problem[], set: (problems: readonly Problem[]) => void] {
  const queries = useQueryClient();
  const queryKey = useScope().api.keyOf(['problems of the draft']);
  const { data = [] } = useQuery<readonly Problem[]>({ queryKey, queryFn: skipToken, gcTime: Infinity });
  return [data, (problems) => queries.setQueryData(queryKey, problems)];
}

/** Gives the screens inside it the configuration and its draft, with a bar for what is not applied yet. */
export function Configuring({ children }: { readonly children: ComponentChildren }) {
  const scope = useScope();
  const configuration = useQuery(scope.api.admin.query('/configuration'));
  const fileSchema = useQuery(scope.api.admin.query('/configuration/schema'));
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
      <WithDraft key={draftName(draftOwner(scope))} configuration={configuration.data} schema={schema} reload={reload}>
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
  const scope = useScope();
  const owner = draftOwner(scope);
  const [stored, setStored] = useState(() => loadDraft(sessionStorage, owner));
  const [isKept, setIsKept] = useState(true);
  useUnloadWarning(!isKept);
  const [problems, setProblems] = useProblems();
  const { version } = configuration;
  const base = fileOf(configuration);
  const file = stored?.file ?? base;
  const changes = useMemo(() => draftChanges(base, file), [base, file]);
  const store = (draft: StoredDraft | undefined): void => {
    setIsKept(saveDraft(sessionStorage, owner, draft));
    setStored(draft);
  };
  const replace = (next: JsonObject, of = version): void => {
    store(isSame(next, base) ? undefined : { version: of, file: next });
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
  return (
    <DraftContext.Provider value={draft}>
      {children}
      {changes.length > 0 && <DraftBar count={changes.length} isKept={isKept} onDiscard={discard} />}
    </DraftContext.Provider>
  );
}
