import { useQuery } from '@tanstack/preact-query';
import { LocationProvider, useLocation } from 'preact-iso';
import { useCallback, useMemo, useRef } from 'preact/hooks';
import { readSession, type Session } from '../api/session.js';
import { forgetDrafts } from '../editor/draft/draft-storage.js';
import { KeepDraft } from '../editor/draft/kept-draft.js';
import { createScope, ScopeContext, tenantOf } from '../scope/scope.js';
import { ZoneProvider } from '../scope/zone.js';
import { SignIn } from '../screens/sign-in/sign-in.js';
import { Screens, Shell } from './shell.js';
import { ErrorNote, Loading } from '../ui/states.js';

/** The session, or null without one. */
async function currentSession(): Promise<Session | null> {
  const session = await readSession();
  // A session may end without a sign-out, and the next operator uses the same tab.
  if (session) forgetDrafts(sessionStorage, session.key.id);
  return session ?? null;
}

/** The dashboard: the sign-in form without a session, and the screens with one. */
export function App() {
  const { data: session, error, refetch } = useQuery({ queryKey: ['session'], queryFn: currentSession });
  const readAgain = useCallback((): void => void refetch(), [refetch]);
  const wasSignedIn = useRef(false);
  if (session) wasSignedIn.current = true;
  if (error) return <ErrorNote error={error} retry={readAgain} />;
  if (session === undefined) return <Loading />;
  if (session === null) return <SignIn hasEnded={wasSignedIn.current} onSignedIn={readAgain} />;
  return (
    <LocationProvider scope="/dashboard">
      <InTenant session={session} onSignedOut={readAgain} />
    </LocationProvider>
  );
}

function InTenant({ session, onSignedOut }: { readonly session: Session; readonly onSignedOut: () => void }) {
  const tenant = tenantOf(useLocation().path);
  const scope = useMemo(() => createScope({ session, tenant }, onSignedOut), [session, tenant, onSignedOut]);
  return (
    <ScopeContext.Provider value={scope}>
      <ZoneProvider>
        <KeepDraft>
          <Shell>
            <Screens />
          </Shell>
        </KeepDraft>
      </ZoneProvider>
    </ScopeContext.Provider>
  );
}
