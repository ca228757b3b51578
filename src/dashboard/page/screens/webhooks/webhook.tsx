import { useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../api/errors.js';
import { findByKey } from '../../api/find-by-key.js';
import { useScope } from '../../scope/scope.js';
import { Facts } from '../../ui/facts.js';
import { formatNumber } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { WebhookActions } from './actions.js';
import { Deliveries } from './deliveries.js';
import { EndpointBadge } from './state.js';

/** An endpoint: its state, its deliveries, tests and its secret. */
export default function WebhookScreen({ webhook: key }: { readonly webhook: string }) {
  const { api, href } = useScope();
  const read = useQuery(
    api.query(['webhook', key], async () => {
      const found = await findByKey(key, (query) => api.admin.GET('/webhooks', { params: { query } }));
      const totals = dataOf(await api.admin.GET('/webhooks/totals'));
      return { found, totals: totals.find(({ webhookId }) => webhookId === found?.id) };
    }),
  );
  return (
    <Page
      title={read.data?.found?.name ?? key}
      about={read.data?.found?.url}
      actions={
        <a class="button" href={href(`/configuration/webhooks/${encodeURIComponent(key)}`)}>
          Edit the endpoint
        </a>
      }
    >
      <Loaded of={read}>
        {({ found, totals }) =>
          found ? (
            <>
              <Panel title="State" actions={<WebhookActions endpoint={found} />}>
                <Facts
                  facts={[
                    { title: 'State', value: <EndpointBadge {...found} /> },
                    { title: 'Pending deliveries', value: formatNumber(totals?.pending ?? 0) },
                    { title: 'Failed deliveries', value: formatNumber(totals?.failed ?? 0) },
                    { title: 'Kinds', value: found.events.join(', ') },
                  ]}
                />
              </Panel>
              <Deliveries id={found.id} kinds={found.events} />
            </>
          ) : (
            <Empty>
              There is no endpoint with the key {key}. <a href={href('/webhooks')}>See all endpoints</a>.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}
