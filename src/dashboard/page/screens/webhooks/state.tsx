import { Moment } from '../../ui/format.js';
import { StatusBadge } from '../common/status-badge.js';
import type { Endpoint } from './types.js';

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
