import { skipToken, useQuery, useQueryClient } from '@tanstack/preact-query';
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { useScope } from '../../scope/scope.js';
import { useUnloadWarning } from '../../ui/unload-warning.js';
import type { Problem } from '../file/api.js';
import { type DraftOwner, draftName, loadDraft, saveDraft, type StoredDraft } from './draft-storage.js';

/** The draft of this tab, as every screen knows it. */
interface KeptDraft {
  readonly stored: StoredDraft | undefined;
  /** Whether the browser keeps it when the page is reloaded. */
  readonly isKept: boolean;
  readonly store: (draft: StoredDraft | undefined) => void;
}

const KeptDraftContext = createContext<KeptDraft | undefined>(undefined);

export function useKeptDraft(): KeptDraft {
  const draft = useContext(KeptDraftContext);
  if (!draft) throw new Error('a draft outside of the shell');
  return draft;
}

/** Holds the draft of the tenant in the address, or of the key. */
export function KeepDraft({ children }: { readonly children: ComponentChildren }) {
  const { tenant, session } = useScope();
  const owner: DraftOwner = { key: session.key.id, tenant: tenant ?? session.key.tenantId ?? undefined };
  return (
    <Keeper key={draftName(owner)} owner={owner}>
      {children}
    </Keeper>
  );
}

function Keeper({ owner, children }: { readonly owner: DraftOwner; readonly children: ComponentChildren }) {
  const [stored, setStored] = useState(() => loadDraft(sessionStorage, owner));
  const [isKept, setIsKept] = useState(true);
  useUnloadWarning(!isKept);
  const store = (draft: StoredDraft | undefined): void => {
    setIsKept(saveDraft(sessionStorage, owner, draft));
    setStored(draft);
  };
  return <KeptDraftContext.Provider value={{ stored, isKept, store }}>{children}</KeptDraftContext.Provider>;
}

/** The problems of the last review of the draft, which the forms show. */
export function useProblems(): [problems: readonly Problem[], set: (problems: readonly Problem[]) => void] {
  const queries = useQueryClient();
  const queryKey = useScope().api.keyOf(['problems of the draft']);
  const { data = [] } = useQuery<readonly Problem[]>({ queryKey, queryFn: skipToken, gcTime: Infinity });
  return [data, (problems) => queries.setQueryData(queryKey, problems)];
}
