import { useQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import type { operations } from '../../../api/schema/admin.js';
import { useScope } from '../../../scope/scope.js';
import { Loaded } from '../../../ui/states.js';
import { ShowMore } from '../../../ui/show-more.js';

export type System = operations['admin_points_systems_list']['responses']['200']['content']['application/json'][number];

const systemsRead = 100;
const systemsShown = 5;

/** Shows something of each active points system. */
export function EachSystem({ children }: { readonly children: (system: System) => ComponentChildren }) {
  const { api, href } = useScope();
  const systems = useQuery(api.admin.query('/points', { params: { query: { limit: systemsRead } } }));
  return (
    <Loaded of={systems}>
      {(all) => (
        <ShowMore
          items={all.filter(({ status }) => status === 'active')}
          count={systemsShown}
          empty={
            <>
              There are no points systems yet. <a href={href('/configuration/points')}>Create one</a>.
            </>
          }
        >
          {children}
        </ShowMore>
      )}
    </Loaded>
  );
}
