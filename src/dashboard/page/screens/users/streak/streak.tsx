import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../../api/schema/application.js';
import { wholeBatch } from '../../../api/errors.js';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { Facts, type Fact } from '../../../ui/facts.js';
import { formatCount, formatDate, formatNumber } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { Loaded } from '../../../ui/states.js';
import { Calendar } from './calendar.js';
import { UserChangeDialog } from '../change.js';
import { longestOf } from './streak-calendar.js';
import { StreakActions } from './streak-actions.js';
import { useUser } from '../user-context.js';

type Streak = components['schemas']['Streak'];
type Pause = Streak['pauses'][number];

/** All periods that the API lists at once. */
const historyPeriods = 400;

const units = { daily: 'day', weekly: 'week', monthly: 'month' } as const;

/** The user's streak, and what kept it or ended it. */
export function StreakPanel() {
  const { api } = useScope();
  const { profile } = useUser();
  const streak = useQuery(api.application.query('/users/{id}/streak', { params: { path: { id: profile.id }, query: { historyPeriods } } }));
  return (
    <div id="streak">
      <Panel title="Streak" actions={<StreakActions />}>
        <Loaded of={streak}>
          {(data) => (
            <>
              <Facts facts={factsOf(data)} />
              <Calendar history={data.streakHistory} frequency={data.frequency} />
              {data.pauses.map((pause) => (
                <PauseRow key={pause.id} pause={pause} />
              ))}
            </>
          )}
        </Loaded>
      </Panel>
    </div>
  );
}

function factsOf({ length, frequency, freezes, maxFreezes, expires, streakHistory }: Streak): Fact[] {
  const unit = units[frequency];
  return [
    { title: 'Current', value: formatCount(length, unit) },
    { title: `Longest in ${formatCount(streakHistory.length, unit)}`, value: formatCount(longestOf(streakHistory), unit) },
    ...(freezes === undefined ? [] : [{ title: 'Freezes', value: `${formatNumber(freezes)} of ${formatNumber(maxFreezes ?? freezes)}` }]),
    ...(expires === null ? [] : [{ title: 'Extend until', value: formatDate(expires) }]),
  ];
}

function PauseRow({ pause: { id, start, end } }: { readonly pause: Pause }) {
  const { api } = useScope();
  const dates = `${formatDate(start)} to ${formatDate(end)}`;
  const cancel = async (): Promise<string> => {
    wholeBatch(await api.admin.DELETE('/streaks/pauses', { params: { query: { ids: [id] } } }));
    return `The pause ${dates} is canceled.`;
  };
  return (
    <div class="row-with-action">
      <span>Pause: {dates}</span>
      <Change verb="Cancel the pause" label={`Cancel the pause ${dates}`}>
        {(close) => (
          <UserChangeDialog title="Cancel the pause" confirm="Cancel the pause" isDangerous close={close} change={cancel}>
            <p>Periods that the pause has covered stay covered. A later missed period needs a freeze or ends the streak.</p>
          </UserChangeDialog>
        )}
      </Change>
    </div>
  );
}
