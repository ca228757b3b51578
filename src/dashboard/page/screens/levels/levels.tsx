import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { SelectField } from '../../ui/field.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Bars } from '../../ui/bars.js';
import { formatCount, formatNumber } from '../../ui/format.js';

/** The users of each level, the lowest first. */
function LevelShares({ id, systemKey }: { readonly id: string; readonly systemKey: string }) {
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
function PointsRanges({ systemKey }: { readonly systemKey: string }) {
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

/** The most points systems that the Admin API lists at once. */
const listedSystems = 100;

/** How many users have each level of a points system, and how many points users have. */
export default function Levels() {
  const { api, href } = useScope();
  const { query, change } = useAddress();
  const read = useQuery(api.admin.query('/points', { params: { query: { limit: listedSystems } } }));
  const system = read.data?.find(({ key }) => key === query['system']) ?? read.data?.[0];
  const editor = href('/configuration/points');
  return (
    <Page
      title="Levels"
      about="How far users have come in each points system."
      actions={
        <a class="button" href={system ? `${editor}/${encodeURIComponent(system.key)}` : editor}>
          Edit points and levels
        </a>
      }
    >
      <Loaded of={read}>
        {(systems) =>
          system ? (
            <>
              {systems.length > 1 && (
                <form class="inline" onSubmit={(event) => event.preventDefault()}>
                  <SelectField
                    label="Points system"
                    value={system.key}
                    onChange={(key) => {
                      change({ system: key });
                    }}
                    options={systems.map(({ key, name }) => ({ value: key, label: name }))}
                  />
                </form>
              )}
              <div class="columns" key={system.id}>
                <LevelShares id={system.id} systemKey={system.key} />
                <PointsRanges systemKey={system.key} />
              </div>
            </>
          ) : (
            <Empty>
              There are no points systems. <a href={editor}>Add one in the configuration</a>.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}
