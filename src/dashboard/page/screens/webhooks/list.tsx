import { useRead } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { useAddress } from '../../use-address.js';
import { formatNumber } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Runbooks } from '../operation/runbook-list.js';
import { runbooks } from '../operation/runbooks.js';
import { EndpointBadge } from './state.js';

/** The endpoints that receive webhooks, with their state. */
export default function Webhooks() {
  const { api, href } = useScope();
  const paging = usePaging(useAddress());
  const endpoints = useRead(() => api.admin.GET('/webhooks', { params: { query: paging.range } }), [api, paging.page]);
  const totals = useRead(() => api.admin.GET('/webhooks/totals'), [api]);
  const waiting = (id: string, count: 'pending' | 'failed') => {
    const total = totals.data?.find((one) => one.webhookId === id)?.[count];
    return total === undefined ? '' : formatNumber(total);
  };
  const editor = href('/configuration/webhooks');
  return (
    <Page
      title="Webhooks"
      about="Endpoints of yours that receive what happens to users. Deliveries are kept for seven days."
      actions={
        <a class="button" href={editor}>
          Configure webhooks
        </a>
      }
    >
      <Panel title="All endpoints">
        <PagedTable
          caption="Webhook endpoints"
          of={endpoints}
          paging={paging}
          keyOf={({ id }) => id}
          empty={
            <>
              There are no endpoints. <a href={editor}>Add one in the configuration</a>, then rotate its secret here to see it.
            </>
          }
          columns={[
            { title: 'Endpoint', cell: ({ key, name }) => <a href={href(`/webhooks/${encodeURIComponent(key)}`)}>{name}</a> },
            { title: 'URL', cell: ({ url }) => url },
            { title: 'Kinds', isNumber: true, cell: ({ events }) => events.length },
            { title: 'Pending', isNumber: true, cell: ({ id }) => waiting(id, 'pending') },
            { title: 'Failed', isNumber: true, cell: ({ id }) => waiting(id, 'failed') },
            { title: 'State', cell: (endpoint) => <EndpointBadge {...endpoint} /> },
          ]}
        />
        <Runbooks names={runbooks.webhooks} />
      </Panel>
    </Page>
  );
}
