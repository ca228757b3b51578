import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { Panel } from '../../ui/page.js';
import { CopyButton } from '../../ui/secret.js';
import { Empty, Loaded } from '../../ui/states.js';
import { firstEventCommand } from './analytics.js';

/** What to do in a new installation. */
export function FirstEvent() {
  const { api, href, tenant } = useScope();
  const metrics = useQuery(api.admin.query('/metrics', { params: { query: { limit: 1 } } }));
  return (
    <Panel title="Send your first event">
      <Loaded of={metrics}>
        {([metric]) => {
          if (!metric) {
            return (
              <Empty>
                There are no metrics yet. <a href={href('/configuration/metrics')}>Create a metric</a>, then send an event on it.
              </Empty>
            );
          }
          const command = firstEventCommand({ origin: location.origin, metric: metric.key, tenant });
          return (
            <>
              <p>
                No users yet: the first event of a user creates the user. Run this command with your API key. This screen shows the event
                within seconds.
              </p>
              <pre class="command" tabIndex={0}>
                {command}
              </pre>
              <p class="actions">
                <CopyButton text={command} />
              </p>
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}
