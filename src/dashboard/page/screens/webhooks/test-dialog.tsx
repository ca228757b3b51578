import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import { given } from '../../api/given.js';
import type { operations } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField } from '../../ui/field.js';
import { ErrorNote } from '../../ui/states.js';
import type { Endpoint, Kind } from './types.js';

type Outcome = operations['admin_webhooks_test']['responses'][200]['content']['application/json'];

/** Sends an example of a kind to an endpoint, and shows what the receiver replied. */
export function TestDialog({ endpoint: { id, name, events }, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const { api } = useScope();
  const [kind, setKind] = useState<Kind | undefined>(events[0]);
  const test = useMutation({
    mutationFn: async () => dataOf(await api.admin.POST('/webhooks/{id}/test', { params: { path: { id } }, body: given({ kind }) })),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    test.mutate();
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
        {test.isPending && <progress aria-label="Waiting for the receiver" />}
        {test.error && <ErrorNote error={test.error} />}
        <div role="status">{test.data && <OutcomeNote outcome={test.data} />}</div>
        <footer class="actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="primary" disabled={test.isPending}>
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
