import { useState } from 'preact/hooks';
import { given } from '../../api/given.js';
import type { components } from '../../api/schema/admin.js';
import { useSteps } from '../../api/use-steps.js';
import { momentIn } from '../../scope/zone-time.js';
import { useZone } from '../../scope/zone.js';
import { Change } from '../../ui/change-dialog.js';
import { StepsDialog } from '../../ui/steps-dialog.js';
import { TextField } from '../../ui/field.js';
import { formatNumber } from '../../ui/format.js';

type Resent = components['schemas']['ResentDeliveries'];

/** What every request of the work says. */
interface Span {
  readonly from?: string;
  readonly until?: string;
  readonly cursor?: string;
}

interface ResendFailedProps {
  /** What is sent again: `failed messages`. */
  readonly what: string;
  /** What sending them again does. */
  readonly about: string;
  readonly resend: (span: Span) => Promise<Resent>;
}

/** Sends failed deliveries again step by step, and says how many so far. */
async function* resendAll(resend: ResendFailedProps['resend'], span: Span): AsyncGenerator<Resent> {
  let cursor: string | undefined;
  let sum = 0;
  do {
    const { resent, remaining, next } = await resend(given({ ...span, cursor }));
    sum += resent;
    yield { resent: sum, remaining, next };
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

/** A button that sends again what failed, all of it or of a span of time. */
export function ResendFailed(props: ResendFailedProps) {
  return <Change verb="Send failed again">{(close) => <ResendDialog {...props} close={close} />}</Change>;
}

function ResendDialog({ what, about, resend, close }: ResendFailedProps & { readonly close: () => void }) {
  const { zone } = useZone();
  const [from, setFrom] = useState('');
  const [until, setUntil] = useState('');
  const steps = useSteps<Resent>();
  const { state, isRunning } = steps;
  const moment = (local: string): string | undefined => (local === '' ? undefined : momentIn(zone, local));
  const start = (): void => steps.start(resendAll(resend, given({ from: moment(from), until: moment(until) })));
  return (
    <StepsDialog
      title={`Send ${what} again`}
      confirm="Send again"
      steps={steps}
      progress={state && { done: state.resent, total: state.resent + state.remaining }}
      onConfirm={start}
      onClose={close}
    >
      <p>{about}</p>
      <TextField
        label="Queued from"
        type="datetime-local"
        value={from}
        onChange={setFrom}
        isDisabled={isRunning}
        hint={`In ${zone}. Empty: all.`}
      />
      <TextField
        label="Queued until"
        type="datetime-local"
        value={until}
        onChange={setUntil}
        isDisabled={isRunning}
        hint={`In ${zone}. Empty: now.`}
      />
      <div role="status">
        {state && (
          <p class="note good">
            {formatNumber(state.resent)} sent again.
            {state.next !== null && ` Up to ${formatNumber(state.remaining)} more.`}
          </p>
        )}
      </div>
    </StepsDialog>
  );
}
