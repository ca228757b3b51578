import { LocationProvider, useLocation } from 'preact-iso';
import { useEffect, useMemo } from 'preact/hooks';
import { whenSignedOut } from './api/client.js';
import { readSession, type Session } from './api/session.js';
import { useRead } from './api/use-read.js';
import { forgetDrafts } from './configuration/draft-storage.js';
import { createScope, ScopeContext, tenantOf } from './scope.js';
import { SignIn } from './screens/sign-in.js';
import { Screens, Shell } from './shell.js';
import { ErrorNote, Loading } from './ui/states.js';

/** The dashboard: the sign-in form without a session, and the screens with one. */
export function App() {
  const { data, error, reload } = useRead(async () => {
    const session = await readSession();
    // A session may end without a sign-out, and the next operator uses the same tab.
    if (session) forgetDrafts(sessionStorage, session.key.id);
    return { data: { session } };
  }, []);
  useEffect(() => {
    whenSignedOut(reload);
  }, [reload]);
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />;
  if (!data) return <Loading />;
  const { session } = data;
  if (!session) return <SignIn onSignedIn={reload} />;
  return (
    <LocationProvider scope="/dashboard">
      <InTenant session={session} />
    </LocationProvider>
  );
}

function InTenant({ session }: { readonly session: Session }) {
  const tenant = tenantOf(useLocation().path);
  const scope = useMemo(() => createScope(session, tenant), [session, tenant]);
  return (
    <ScopeContext.Provider value={scope}>
      <Shell>
        <Screens />
      </Shell>
    </ScopeContext.Provider>
  );
}
