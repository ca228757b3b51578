import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { SelectField } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { LevelShares, PointsRanges } from './shares.js';

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
