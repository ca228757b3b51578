import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Bars } from '../../ui/bars.js';
import { formatNumber } from '../../ui/format.js';
import { Panel, Stat } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { type Part, partQuery } from './types.js';

/** How often the distribution of a watched leaderboard is read again. It counts all participants, so it is read less often than the ranking. */
const refreshMs = 10_000;

const orNone = (value: number | null): string => (value === null ? 'none' : formatNumber(value));

/** How the values of a part are distributed over its participants. */
export function Distribution({ part }: { readonly part: Part }) {
  const { api } = useScope();
  const { query } = useAddress();
  const { board } = part;
  const read = useQuery({
    ...api.admin.query('/leaderboards/{id}/distribution', { params: { path: { id: board.id }, query: partQuery(part) } }),
    refetchInterval: query['watch'] === '1' && refreshMs,
  });
  return (
    <Panel title="Distribution">
      <Loaded of={read}>
        {({ participants, lowest, median, highest, buckets }) => (
          <>
            <div class="stats">
              <Stat label="Participants" value={formatNumber(participants)} />
              <Stat label="Lowest" value={orNone(lowest)} />
              <Stat label="Median" value={orNone(median)} />
              <Stat label="Highest" value={orNone(highest)} />
            </div>
            {participants > 0 && (
              <Bars
                caption="Users by value"
                of="Value"
                unit="Users"
                total={participants}
                bars={buckets.map(({ from, to, users }) => ({
                  key: String(from),
                  label: `${formatNumber(from)} to below ${formatNumber(to)}`,
                  value: users,
                }))}
              />
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
