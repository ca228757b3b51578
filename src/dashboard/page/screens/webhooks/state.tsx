import { Moment } from '../../ui/format.js';
import { StatusBadge } from '../common/status-badge.js';
import type { components, operations } from '../../api/schema/admin.js';

export type Endpoint = operations['admin_webhooks_list']['responses'][200]['content']['application/json'][number];
export type Delivery = components['schemas']['WebhookDelivery'];
export type Kind = Delivery['kind'];

/** Whether Laurel sends to an endpoint, and since when it fails. */
export function EndpointBadge({ status, failingSince, switchedOff }: Pick<Endpoint, 'status' | 'failingSince' | 'switchedOff'>) {
  if (switchedOff !== null) {
    return (
      <>
        <StatusBadge status="switched off" /> <Moment at={switchedOff} />
      </>
    );
  }
  return (
    <>
      <StatusBadge status={status} />
      {failingSince !== null && (
        <>
          {' '}
          <StatusBadge status="failing" /> since <Moment at={failingSince} />
        </>
      )}
    </>
  );
}
