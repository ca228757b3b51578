import { useQuery } from '@tanstack/preact-query';
import '../common/screens.css';
import { useState } from 'preact/hooks';
import { given } from '../../api/given.js';
import { useChange } from '../../api/use-change.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Dialog } from '../../ui/dialog.js';
import { Facts } from '../../ui/facts.js';
import { SelectField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { Panel } from '../../ui/page.js';
import { ErrorNote } from '../../ui/states.js';
import { Attempts } from '../common/attempts.js';
import { filterOptions, filterValue } from '../common/filters.js';
import { StatusBadge } from '../common/status-badge.js';
import type { Delivery, Kind } from './types.js';

const statusNames: Readonly<Record<Delivery['status'], string>> = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' };

interface DeliveriesProps {
  readonly id: string;
  /** The kinds that the endpoint subscribes to. */
  readonly kinds: readonly Kind[];
}

/** The deliveries of an endpoint that match the filters in the address. */
export function Deliveries({ id, kinds }: DeliveriesProps) {
  const { api, href } = useScope();
  const address = useAddress();
  const paging = usePaging(address);
  const [opened, setOpened] = useState<Delivery>();
  const status = filterValue(statusNames, address.query['status']);
  const kind = kinds.find((one) => one === address.query['kind']);
  const read = useQuery(
    api.admin.query('/webhooks/{id}/deliveries', { params: { path: { id }, query: given({ status, kind, ...paging.range }) } }),
  );
  return (
    <Panel title="Deliveries" actions={<Filters status={status} kind={kind} kinds={kinds} />}>
      <PagedTable
        caption="Deliveries"
        of={read}
        paging={paging}
        keyOf={(delivery) => delivery.id}
        empty="No deliveries match. One is made when something happens that the endpoint subscribes to."
        columns={[
          { title: 'Happened', cell: ({ occurred }) => <Moment at={occurred} /> },
          { title: 'Kind', cell: (delivery) => delivery.kind },
          {
            title: 'User',
            cell: ({ userId }) => userId !== null && <a href={href(`/users/${encodeURIComponent(userId)}`)}>{userId}</a>,
          },
          { title: 'Status', cell: (delivery) => <StatusBadge status={delivery.status} /> },
          { title: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts },
          { title: 'Last response', cell: ({ tries }) => lastResponse(tries.at(-1)) },
          {
            title: 'Details',
            cell: (delivery) => (
              <button
                type="button"
                class="plain show"
                aria-label={`Show the delivery ${delivery.id}`}
                onClick={() => {
                  setOpened(delivery);
                }}
              >
                Show
              </button>
            ),
          },
        ]}
      />
      {opened && (
        <DeliveryDialog
          webhook={id}
          delivery={opened}
          onClose={() => {
            setOpened(undefined);
          }}
        />
      )}
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

interface DeliveryDialogProps {
  readonly webhook: string;
  readonly delivery: Delivery;
  readonly onClose: () => void;
}

/** A delivery with its attempts and its payload, and the button that sends it again. */
function DeliveryDialog({ webhook, delivery, onClose }: DeliveryDialogProps) {
  const { api, href } = useScope();
  const path = { id: webhook, deliveryId: delivery.id };
  const { mutate, isPending, error } = useChange(
    () => api.admin.POST('/webhooks/{id}/deliveries/{deliveryId}/resend', { params: { path } }),
    onClose,
  );
  return (
    <Dialog title={delivery.kind} onClose={onClose}>
      <div class="stack">
        <Facts
          facts={[
            { title: 'Status', value: <StatusBadge status={delivery.status} /> },
            {
              title: 'User',
              value:
                delivery.userId === null ? 'none' : <a href={href(`/users/${encodeURIComponent(delivery.userId)}`)}>{delivery.userId}</a>,
            },
            { title: 'Happened', value: <Moment at={delivery.occurred} /> },
            { title: 'Finished', value: <Moment at={delivery.finished} /> },
            { title: 'Next attempt', value: delivery.nextAttempt === null ? 'none' : <Moment at={delivery.nextAttempt} /> },
            { title: 'webhook-id', value: <code>{delivery.id}</code> },
          ]}
        />
        <h3>Attempts</h3>
        <Attempts attempts={delivery.tries} />
        <h3>Payload</h3>
        <Json value={delivery.payload} />
        {error && <ErrorNote error={error} />}
        <footer class="actions">
          <ChangeButton kind="primary" isDisabled={isPending} onClick={mutate}>
            Send again
          </ChangeButton>
        </footer>
      </div>
    </Dialog>
  );
}
