import { useScope } from '../../scope/scope.js';
import { Page } from '../../ui/page.js';
import { Deliveries } from './deliveries.js';
import { Recipients } from './recipients.js';
import { Suppressions } from './suppressions.js';
import { Totals } from './totals.js';

/** Messages to users: what was sent, whom a type would reach, and addresses that receive nothing. */
export default function Messages() {
  const { href } = useScope();
  return (
    <Page
      title="Messages"
      about="Emails and push notifications to users of the last seven days."
      actions={
        <>
          <a class="button" href={href('/templates')}>
            Edit templates
          </a>
          <a class="button" href={href('/configuration/messages')}>
            Configure messages
          </a>
        </>
      }
    >
      <Totals />
      <Deliveries />
      <div class="columns">
        <Recipients />
        <Suppressions />
      </div>
    </Page>
  );
}
