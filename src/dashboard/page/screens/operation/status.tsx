import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { Clock } from './clock.js';
import { DeadLetters } from './dead-letters.js';
import { Installation } from './installation.js';

/** Whether the installation is healthy, and what to do when it is not. */
export default function Status() {
  const { session } = useScope();
  const isOfAccount = session.key.tenantId === null;
  return (
    <Page title="Status">
      {isOfAccount ? (
        <Installation />
      ) : (
        <Panel title="Installation">
          <Empty>
            The state of the installation concerns the account, and this key is bound to a tenant. Sign in with a key of the account.
          </Empty>
        </Panel>
      )}
      <DeadLetters />
      {isOfAccount && session.testClock && <Clock />}
    </Page>
  );
}
