import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { Bars } from '../../ui/bars.js';
import { formatCount, formatNumber } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';

/** The users of each level, the lowest first. */
export function LevelShares({ id, systemKey }: { readonly id: string; readonly systemKey: string }) {
  const { api, href } = useScope();
  const read = useQuery(api.admin.query('/analytics/levels/{systemId}', { params: { path: { systemId: id } } }));
  const editor = href(`/configuration/points/${encodeURIComponent(systemKey)}`);
  return (
    <Panel title="Users by level">
      <Loaded of={read}>
        {({ users, levels }) =>
          levels.some((level) => level.id !== null) ? (
            <>
              <Bars
                caption="Users by level"
                of="Level"
                unit="Users"
                total={users}
                bars={levels.map((level) => ({
                  key: level.id ?? '',
                  label:
                    level.id === null ? (
                      <span class="none">No level</span>
                    ) : (
                      <LevelName name={level.name ?? ''} points={level.points ?? 0} />
                    ),
                  value: level.users,
                }))}
              />
              <p class="hint">Of {formatCount(users, 'user')}.</p>
            </>
          ) : (
            <Empty>
              This points system has no levels. <a href={editor}>Add some in the configuration</a>.
            </Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}

const LevelName = ({ name, points }: { readonly name: string; readonly points: number }) => (
  <>
    {name} <span class="hint">from {formatNumber(points)} points</span>
  </>
);

/** The users by ranges of points. */
export function PointsRanges({ systemKey }: { readonly systemKey: string }) {
  const { api } = useScope();
  const read = useQuery(api.application.query('/points/{key}/summary', { params: { path: { key: systemKey } } }));
  return (
    <Panel title="Users by points">
      <Loaded of={read}>
        {(ranges) => (
          <Bars
            caption="Users by points"
            of="Points"
            unit="Users"
            total={ranges.reduce((sum, { users }) => sum + users, 0)}
            bars={ranges.map(({ from, to, users }) => ({
              key: String(from),
              label: from === to ? formatNumber(from) : `${formatNumber(from)} to ${formatNumber(to)}`,
              value: users,
            }))}
          />
        )}
      </Loaded>
    </Panel>
  );
}
