import './screens.css';
import { useState } from 'preact/hooks';
import type { components } from '../../api/schema/admin.js';
import { useChange } from '../../api/use-change.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { Dialog } from '../../ui/dialog.js';
import { type Fact, Facts } from '../../ui/facts.js';
import { Moment, formatNumber } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { PagedTable, type PagedTableProps } from '../../ui/paged-table.js';
import { ErrorNote } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { StatusBadge } from './status-badge.js';
import { UserLink } from './user-link.js';

type Attempt = components['schemas']['DeliveryTry'];

/** The attempts of a delivery, the newest first, with what the receiver replied. */
function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  return (
    <Table
      caption="Attempts"
      rows={attempts.toReversed()}
      keyOf={({ at }) => at}
      empty="No attempt yet."
      columns={[
        { title: 'At', cell: ({ at }) => <Moment at={at} /> },
        { title: 'Took', isNumber: true, cell: ({ durationMs }) => `${formatNumber(Math.round(durationMs))} ms` },
        { title: 'Response', cell: ({ status }) => status ?? <span class="none">none</span> },
        {
          title: 'Detail',
          cell: ({ error, answer }) => (
            <>
              {error !== null && <p class="problem">{error}</p>}
              {answer !== null && answer !== '' && <code>{answer}</code>}
            </>
          ),
        },
      ]}
    />
  );
}

/** A delivery of a webhook, or of a message to a user. */
type Delivery = components['schemas']['WebhookDelivery'] | components['schemas']['Message'];

/** What an operator sees of one delivery, besides what all have. */
export interface DeliveryDetails {
  readonly title: string;
  /** Names it in the label of its button: `the delivery 5f0c…`. */
  readonly label: string;
  /** When it was due or happened. */
  readonly moment: Fact;
  /** What its id is called. */
  readonly idTitle: string;
  readonly content: { readonly title: string; readonly value: unknown };
  /** What sending it again does. */
  readonly hint?: string;
  readonly resend: () => Promise<unknown>;
}

interface DeliveryListProps<T extends Delivery> extends Omit<PagedTableProps<T>, 'columns' | 'keyOf'> {
  /** The columns before the status and after the attempts. */
  readonly first: readonly Column<T>[];
  readonly last: readonly Column<T>[];
  readonly detailsOf: (delivery: T) => DeliveryDetails;
}

/** Deliveries by pages, the one that was queued last first, each with a dialog that tells everything about it and sends it again. */
export function DeliveryList<T extends Delivery>({ first, last, detailsOf, ...table }: DeliveryListProps<T>) {
  return (
    <PagedTable<T>
      {...table}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Queued', cell: ({ created }) => <Moment at={created} /> },
        ...first,
        { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
        { title: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts },
        ...last,
        { title: 'Details', cell: (delivery) => <Details delivery={delivery} details={detailsOf(delivery)} /> },
      ]}
    />
  );
}

interface DetailsProps {
  readonly delivery: Delivery;
  readonly details: DeliveryDetails;
}

function Details({ delivery, details }: DetailsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="plain show" aria-label={`Show ${details.label}`} onClick={() => setOpen(true)}>
        Show
      </button>
      {isOpen && <DeliveryDialog delivery={delivery} details={details} close={() => setOpen(false)} />}
    </>
  );
}

/** Whether it has not reached its receiver: it is sent again without a question. */
const isUnsent = ({ status }: Delivery): boolean => status === 'pending' || status === 'failed';

function DeliveryDialog({ delivery, details, close }: DetailsProps & { readonly close: () => void }) {
  const { title, moment, idTitle, content, hint, resend } = details;
  const { mutate, isPending, error } = useChange(resend, close);
  return (
    <Dialog title={title} onClose={close}>
      <div class="stack">
        <Facts
          facts={[
            { title: 'Status', value: <StatusBadge status={delivery.status} /> },
            { title: 'User', value: delivery.userId === null ? 'none' : <UserLink id={delivery.userId} /> },
            moment,
            { title: 'Queued', value: <Moment at={delivery.created} /> },
            { title: 'Finished', value: <Moment at={delivery.finished} /> },
            { title: 'Next attempt', value: delivery.nextAttempt === null ? 'none' : <Moment at={delivery.nextAttempt} /> },
            { title: idTitle, value: <code>{delivery.id}</code> },
          ]}
        />
        <h3>Attempts</h3>
        <Attempts attempts={delivery.tries} />
        <h3>{content.title}</h3>
        <Json value={content.value} />
        {error && <ErrorNote error={error} />}
        <footer class="actions">
          {hint !== undefined && <p class="hint">{hint}</p>}
          {isUnsent(delivery) ? (
            <ChangeButton kind="primary" isDisabled={isPending} onClick={mutate}>
              Send again
            </ChangeButton>
          ) : (
            <Change verb="Send again" kind="primary">
              {(cancel) => (
                <ChangeDialog title="Send again" confirm="Send again" close={cancel} change={resend} onChanged={close}>
                  <p>
                    Its status is <StatusBadge status={delivery.status} />: a receiver that already has it gets it a second time.
                  </p>
                </ChangeDialog>
              )}
            </Change>
          )}
        </footer>
      </div>
    </Dialog>
  );
}
