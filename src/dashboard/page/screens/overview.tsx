import { Page } from '../ui/page.js';
import { Empty } from '../ui/states.js';

/** The health and the activity of the game. */
export default function Overview() {
  return (
    <Page title="Overview">
      <Empty>No events yet.</Empty>
    </Page>
  );
}
