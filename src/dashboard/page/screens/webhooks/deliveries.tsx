import { useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../api/errors.js';
import { given } from '../../api/given.js';
import { useAddress } from '../../scope/use-address.js';
import { useScope } from '../../scope/scope.js';
import { SelectField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import { usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { type DeliveryDetails, DeliveryList } from '../common/deliveries.js';
import { filterOptions, filterValue } from '../common/filters.js';
import { ResendFailed } from '../common/resend-failed.js';
import { UserLink } from '../common/user-link.js';
import type { Delivery, Kind } from './state.js';

const statusNames: Readonly<Record<Delivery['status'], string>> = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' };

interface DeliveriesProps {
  readonly id: string;
  /** The kinds that the endpoint subscribes to. */
  readonly kinds: readonly Kind[];
}

/** The deliveries of an endpoint that match the filters in the address. */
export function Deliveries({ id, kinds }: DeliveriesProps) {
  const { api } = useScope();
  const address = useAddress();
  const paging = usePaging(address);
  const status = filterValue(statusNames, address.query['status']);
  const kind = kinds.find((one) => one === address.query['kind']);
  const query = given({ status, kind, ...paging.range });
  const read = useQuery(api.admin.query('/webhooks/{id}/deliveries', { params: { path: { id }, query } }));
  const detailsOf = (delivery: Delivery): DeliveryDetails => ({
    title: delivery.kind,
    label: `the delivery ${delivery.id}`,
    moment: { title: 'Happened', value: <Moment at={delivery.occurred} /> },
    idTitle: 'webhook-id',
    content: { title: 'Payload', value: delivery.payload },
    resend: () => api.admin.POST('/webhooks/{id}/deliveries/{deliveryId}/resend', { params: { path: { id, deliveryId: delivery.id } } }),
  });
  return (
    <Panel
      title="Deliveries"
      actions={
        <>
          <Filters status={status} kind={kind} kinds={kinds} />
          <ResendFailed
            what="failed deliveries"
            about={`The endpoint gets its failed deliveries ${kind === undefined ? '' : `of the kind ${kind} `}again, the oldest first.`}
            resend={async (span) => {
              const body = given({ ...span, kind });
              return dataOf(await api.admin.POST('/webhooks/{id}/deliveries/resend', { params: { path: { id } }, body }));
            }}
          />
        </>
      }
    >
      <DeliveryList
        caption="Deliveries"
        of={read}
        paging={paging}
        empty="No deliveries match. One is made when something happens that the endpoint subscribes to."
        first={[
          { title: 'Happened', cell: ({ occurred }) => <Moment at={occurred} /> },
          { title: 'Kind', cell: (delivery) => delivery.kind },
          { title: 'User', cell: ({ userId }) => userId !== null && <UserLink id={userId} /> },
        ]}
        last={[{ title: 'Last response', cell: ({ tries }) => lastResponse(tries.at(-1)) }]}
        detailsOf={detailsOf}
      />
    </Panel>
  );
}

const lastResponse = (attempt: Delivery['tries'][number] | undefined): string =>
  attempt === undefined ? 'none yet' : (attempt.error ?? String(attempt.status ?? ''));

function Filters({
  status,
  kind,
  kinds,
}: {
  readonly status: string | undefined;
  readonly kind: string | undefined;
  readonly kinds: readonly Kind[];
}) {
  const { change } = useAddress();
  return (
    <form class="inline" onSubmit={(event) => event.preventDefault()}>
      <SelectField
        label="Status"
        value={status ?? ''}
        onChange={(value) => {
          change({ status: value });
        }}
        options={filterOptions(statusNames)}
      />
      <SelectField
        label="Kind"
        value={kind ?? ''}
        onChange={(value) => {
          change({ kind: value });
        }}
        options={[{ value: '', label: 'All' }, ...kinds.map((one) => ({ value: one, label: one }))]}
      />
    </form>
  );
}
