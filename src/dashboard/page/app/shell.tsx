import { useMutation } from '@tanstack/preact-query';
import { Route, Router, useLocation } from 'preact-iso';
import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { signOut } from '../api/session.js';
import { DraftBar } from '../editor/draft/draft-bar.js';
import { forgetDrafts, hasDrafts } from '../editor/draft/draft-storage.js';
import { ScreenError } from './screen-error.js';
import { groups, screens } from './screens.js';
import { Toolbar } from './toolbar.js';
import { useScope } from '../scope/scope.js';
import { ProblemsBadge } from '../screens/common/problems.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { Announcer } from '../ui/heading.js';
import { Page } from '../ui/page.js';
import { Empty, ErrorNote } from '../ui/states.js';

/** The icon of the page, which bin/page.mjs writes into its head. */
const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href;

/** The navigation, and the screen beside it. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Navigation />
      <div class="content">
        <Toolbar />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
        <DraftBar />
      </div>
      <Announcer />
    </div>
  );
}

function Navigation() {
  const { session, tenant, href } = useScope();
  const { path } = useLocation();
  // On a narrow screen, the menu is shown on demand. Elsewhere it is always there.
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setOpen(false);
  }, [path]);
  return (
    <nav class="navigation" aria-label="Dashboard">
      <div class="brand">
        <a href={href('/')}>
          <img src={icon} alt="" width={22} height={22} />
          Laurel
        </a>
        <button type="button" class="menu-button" aria-expanded={isOpen} aria-controls="menu" onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
      </div>
      <div id="menu" class={isOpen ? 'menu open' : 'menu'}>
        {tenant !== undefined && (
          <p class="tenant">
            Tenant <code>{tenant}</code> <a href="/dashboard">Leave</a>
          </p>
        )}
        {groups.map((group) => (
          <div key={group.title} role="group" aria-label={group.title}>
            <h2>{group.title}</h2>
            <ul>
              {group.items.map(({ path: to, title }) => (
                <li key={to}>
                  <a href={href(to)} aria-current={isWithin(path, href(to), to === '/') ? 'page' : undefined}>
                    {title}
                    {to === '/status' && <ProblemsBadge />}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <footer>
          <div>
            <p title={`Key ${session.key.prefix}`}>
              {session.key.name === '' ? session.key.prefix : session.key.name}
              {session.key.access === 'read' && ' (read-only)'}
            </p>
            <p>Laurel {session.version}</p>
          </div>
          <SignOut />
        </footer>
      </div>
    </nav>
  );
}

/** Ends the session. Its drafts end with it, since the next operator uses the same tab. */
function SignOut() {
  const [isAsking, setIsAsking] = useState(false);
  const { mutate, isPending, error } = useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      forgetDrafts(sessionStorage);
      location.assign('/dashboard');
    },
  });
  const onClick = (): void => {
    if (hasDrafts(sessionStorage)) setIsAsking(true);
    else mutate();
  };
  return (
    <>
      <button type="button" class="plain" disabled={isPending} onClick={onClick}>
        Sign out
      </button>
      {isAsking ? (
        <ConfirmDialog
          title="Sign out"
          confirm="Sign out and discard"
          isDangerous
          isRunning={isPending}
          error={error}
          onConfirm={mutate}
          onClose={() => setIsAsking(false)}
        >
          <p>The changes of the configuration that are not applied will be lost.</p>
        </ConfirmDialog>
      ) : (
        error && <ErrorNote error={error} />
      )}
    </>
  );
}

const withoutSlash = (path: string): string => path.replace(/\/$/, '');
const isWithin = (path: string, address: string, isExact: boolean): boolean =>
  withoutSlash(path) === withoutSlash(address) || (!isExact && path.startsWith(`${address}/`));

/** The screen of the address; an error in place of one that fails, until the address changes. */
export function Screens() {
  const { href } = useScope();
  const { path } = useLocation();
  const [error, forget] = useErrorBoundary((thrown: unknown) => reportError(thrown)) as [unknown, () => void];
  useEffect(forget, [path]);
  if (error !== undefined) return <ScreenError error={error} />;
  return (
    <Router>
      {screens.map(({ path, screen }) => (
        <Route key={path} path={path === '/' ? href('') : href(path)} component={screen} />
      ))}
      <Route default component={NotFound} />
    </Router>
  );
}

function NotFound() {
  const { href } = useScope();
  return (
    <Page title="Not found">
      <Empty>
        There is no screen at this address. <a href={href('/')}>Go to the overview</a>.
      </Empty>
    </Page>
  );
}
