import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../../api/schema/application.js';
import { useScope } from '../../../scope/scope.js';
import { formatNumber } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { Loaded } from '../../../ui/states.js';
import { Table } from '../../../ui/table.js';
import { useUser } from '../user-context.js';

type Metric = components['schemas']['Metric'];

/** The user's totals. */
export function TotalsPanel() {
  const { api, href } = useScope();
  const { profile } = useUser();
  const totals = useQuery(api.application.query('/users/{id}/metrics', { params: { path: { id: profile.id } } }));
  return (
    <Panel title="Totals">
      <Loaded of={totals}>
        {(metrics) => (
          <Table<Metric>
            caption="Totals by metric"
            rows={metrics}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Metric', cell: ({ key, name }) => <a href={href(`/configuration/metrics/${encodeURIComponent(key)}`)}>{name}</a> },
              { title: 'Total', isNumber: true, cell: ({ current }) => formatNumber(current) },
            ]}
            empty={
              <>
                There are no metrics yet. <a href={href('/configuration/metrics')}>Create one</a>.
              </>
            }
          />
        )}
      </Loaded>
    </Panel>
  );
}
