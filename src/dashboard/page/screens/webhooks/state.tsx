import { Moment } from '../../ui/format.js';
import { StatusBadge } from '../common/status-badge.js';

interface EndpointState {
  readonly status: 'active' | 'inactive';
  readonly failingSince: string | null;
  readonly switchedOff: string | null;
}

/** Whether Laurel sends to an endpoint, and since when it fails. */
export function EndpointBadge({ status, failingSince, switchedOff }: EndpointState) {
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
