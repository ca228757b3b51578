import { useQuery } from '@tanstack/preact-query';
import { readAfter } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber } from '../../ui/format.js';
import { usePaging } from '../../ui/paged-table.js';
import { ConfiguredListPage } from '../common/configured-list.js';
import { Runbooks } from '../common/runbook-list.js';
import { runbooks } from '../common/runbooks.js';
import { EndpointBadge } from './state.js';

/** The endpoints that receive webhooks, with their state. */
export default function Webhooks() {
  const { api, href } = useScope();
  const paging = usePaging(useAddress());
  const endpoints = useQuery(api.admin.query('/webhooks', { params: { query: paging.range } }));
  const totals = useQuery(api.admin.query('/webhooks/totals'));
  const waiting = (id: string, count: 'pending' | 'failed') => {
    const total = totals.data?.find((one) => one.webhookId === id)?.[count];
    return total === undefined ? '' : formatNumber(total);
  };
  return (
    <ConfiguredListPage
      title="Webhooks"
      about="Endpoints of yours that receive what happens to users. Deliveries are kept for seven days."
      noun="endpoints"
      part="webhooks"
      then=", then rotate its secret here to see it"
      of={readAfter(endpoints, totals)}
      paging={paging}
      columns={[
        { title: 'Endpoint', cell: ({ key, name }) => <a href={href(`/webhooks/${encodeURIComponent(key)}`)}>{name}</a> },
        { title: 'URL', cell: ({ url }) => url },
        { title: 'Kinds', isNumber: true, cell: ({ events }) => events.length },
        { title: 'Pending', isNumber: true, cell: ({ id }) => waiting(id, 'pending') },
        { title: 'Failed', isNumber: true, cell: ({ id }) => waiting(id, 'failed') },
        { title: 'State', cell: (endpoint) => <EndpointBadge {...endpoint} /> },
      ]}
    >
      <Runbooks names={runbooks.webhooks} />
    </ConfiguredListPage>
  );
}
