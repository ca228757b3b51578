import type { components } from '../../api/schema/admin.js';
import { formatNumber, Moment } from '../../ui/format.js';
import { Table } from '../../ui/table.js';

type Attempt = components['schemas']['DeliveryTry'];

/** The attempts of a delivery, the newest first, with what the receiver replied. */
export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
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
