import type { Read } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { Bars } from '../../ui/bars.js';
import { Panel } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type AnalyticsStreaks, lengthLabel, usedRanges } from './analytics.js';

const units = { daily: 'days', weekly: 'weeks', monthly: 'months' } as const;

/** How many users have a streak of which length. */
export function Streaks({ of }: { readonly of: Read<AnalyticsStreaks> }) {
  const { href } = useScope();
  return (
    <Panel title="Streaks alive by length">
      <Loaded of={of}>
        {({ alive, lengths, frequency }) =>
          alive === 0 ? (
            <Empty>
              No user has a streak. <a href={href('/configuration/streaks')}>Check the streak conditions</a>.
            </Empty>
          ) : (
            <Bars
              caption="Users by the length of their streak"
              of={`Length in ${units[frequency]}`}
              unit="Users"
              total={alive}
              bars={usedRanges(lengths).map((range) => ({ key: String(range.from), label: lengthLabel(range), value: range.users }))}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
