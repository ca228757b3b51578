import { useState } from 'preact/hooks';
import { given } from '../../api/given.js';
import { useAction } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField } from '../../ui/field.js';
import { ErrorNote } from '../../ui/states.js';
import type { Endpoint, Kind } from './types.js';

interface Outcome {
  readonly delivered: boolean;
  readonly durationMs: number;
  readonly status: number | null;
  readonly answer: string | null;
  readonly error: string | null;
}

/** Sends an example of a kind to an endpoint, and shows what the receiver replied. */
export function TestDialog({ endpoint: { id, name, events }, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const { api } = useScope();
  const [kind, setKind] = useState<Kind | undefined>(events[0]);
  const [outcome, setOutcome] = useState<Outcome>();
  const test = useAction(async () => {
    setOutcome(undefined);
    const { data } = await api.admin.POST('/webhooks/{id}/test', { params: { path: { id } }, body: given({ kind }) });
    setOutcome(data);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void test.run();
  };
  return (
    <Dialog title={`Send a test to ${name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <p>The message is signed like any other. Laurel neither stores nor retries it.</p>
        <SelectField
          label="Kind"
          value={kind ?? ''}
          onChange={(value) => {
            setKind(events.find((one) => one === value));
          }}
          options={events.map((one) => ({ value: one, label: one }))}
        />
        {test.isRunning && <progress aria-label="Waiting for the receiver" />}
        {test.error !== undefined && <ErrorNote error={test.error} />}
        <div role="status">{outcome && <OutcomeNote outcome={outcome} />}</div>
        <footer class="actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="primary" disabled={test.isRunning}>
            Send a test
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function OutcomeNote({ outcome: { delivered, durationMs, status, answer, error } }: { readonly outcome: Outcome }) {
  return (
    <div class={delivered ? 'note good' : 'note error'}>
      <span>
        {delivered ? 'Delivered' : 'Not delivered'} in {Math.round(durationMs)} ms{status === null ? '' : `, response ${status}`}.{' '}
        {error ?? ''}
      </span>
      {answer !== null && answer !== '' && <code>{answer}</code>}
    </div>
  );
}
