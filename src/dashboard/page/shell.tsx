import { Route, Router, useLocation } from 'preact-iso';
import type { ComponentChildren } from 'preact';
import { signOut } from './api/session.js';
import { groups, screens } from './screens.js';
import { useScope } from './scope.js';
import { Page } from './ui/page.js';
import { Empty } from './ui/states.js';

/** The navigation, and the screen beside it. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Navigation />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Navigation() {
  const { session, tenant, href } = useScope();
  const { path } = useLocation();
  const leave = async (): Promise<void> => {
    await signOut().catch(() => undefined);
    location.assign('/dashboard');
  };
  return (
    <nav class="navigation" aria-label="Dashboard">
      <p class="brand">Laurel</p>
      {tenant !== undefined && (
        <p class="tenant">
          Tenant <code>{tenant}</code> <a href="/dashboard">Leave</a>
        </p>
      )}
      {groups.map((group) => (
        <section key={group.title} aria-label={group.title}>
          <h2>{group.title}</h2>
          <ul>
            {group.items.map(({ path: to, title }) => (
              <li key={to}>
                <a href={href(to)} aria-current={isWithin(path, href(to), to === '/') ? 'page' : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <footer>
        <p title={`Key ${session.key.prefix}`}>
          {session.key.name === '' ? session.key.prefix : session.key.name}
          {session.key.access === 'read' && ' (read-only)'}
        </p>
        <button type="button" class="plain" onClick={() => void leave()}>
          Sign out
        </button>
      </footer>
    </nav>
  );
}

const isWithin = (path: string, address: string, isExact: boolean): boolean =>
  path === address || path === `${address}/` || (!isExact && path.startsWith(`${address}/`));

/** The screen of the address. */
export function Screens() {
  const { href } = useScope();
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
