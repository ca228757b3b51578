import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { AdminKeys } from './admin-keys.js';
import { ApplicationKeys } from './application-keys.js';
import { Sessions } from './sessions.js';

/** The keys of the account and of users, and who is signed in. */
export default function Keys() {
  const { session } = useScope();
  return (
    <Page title="Keys and sessions">
      {session.key.tenantId === null ? (
        <AdminKeys />
      ) : (
        <Panel title="Admin keys">
          <Empty>Admin keys belong to the account. Sign in with a key that is not bound to a tenant to manage them.</Empty>
        </Panel>
      )}
      <Sessions />
      <ApplicationKeys />
    </Page>
  );
}
