import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf, wholeBatch } from '../../api/errors.js';
import { useChange } from '../../api/use-change.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { ConfirmDialog, Dialog } from '../../ui/dialog.js';
import { TextField, SelectField } from '../../ui/field.js';
import { SecretDialog } from '../../ui/secret.js';
import { ErrorNote } from '../../ui/states.js';
import type { Endpoint, Kind } from './state.js';
import { given } from '../../api/given.js';
import type { operations } from '../../api/schema/admin.js';

type Outcome = operations['admin_webhooks_test']['responses'][200]['content']['application/json'];

/** Sends an example of a kind to an endpoint, and shows what the receiver replied. */
function TestDialog({ endpoint: { id, name, events }, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
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

interface OfEndpoint {
  readonly endpoint: Endpoint;
}

interface DialogProps extends OfEndpoint {
  readonly close: () => void;
}

/** What an operator does with an endpoint besides configuring it. */
export function WebhookActions({ endpoint }: OfEndpoint) {
  const isActive = endpoint.status === 'active';
  return (
    <>
      <Change verb="Send a test">{(close) => <TestDialog endpoint={endpoint} onClose={close} />}</Change>
      <Change verb="Rotate the secret">{(close) => <RotateDialog endpoint={endpoint} close={close} />}</Change>
      {isActive ? (
        <Change verb="Switch off">{(close) => <SwitchOffDialog endpoint={endpoint} close={close} />}</Change>
      ) : (
        <SwitchOnButton endpoint={endpoint} />
      )}
    </>
  );
}

/** Sets the status of an endpoint. */
function useStatus({ id }: Endpoint) {
  const { api } = useScope();
  return async (status: Endpoint['status']) => wholeBatch(await api.admin.PATCH('/webhooks', { body: [{ id, status }] }));
}

function SwitchOnButton({ endpoint }: OfEndpoint) {
  const { mutate, isPending, error } = useChange(useStatus(endpoint));
  return (
    <>
      {error && <ErrorNote error={error} />}
      <ChangeButton isDisabled={isPending} onClick={() => mutate('active')}>
        Switch on
      </ChangeButton>
    </>
  );
}

function SwitchOffDialog({ endpoint, close }: DialogProps) {
  const setStatus = useStatus(endpoint);
  return (
    <ChangeDialog title={`Switch off ${endpoint.name}`} confirm="Switch off" isDangerous close={close} change={() => setStatus('inactive')}>
      <p>Laurel makes no messages for the endpoint until you switch it on again. What happens until then is not sent later.</p>
    </ChangeDialog>
  );
}

/** How long the old secret stays valid, unless the operator says otherwise. */
const usualOverlapHours = '24';

function RotateDialog({ endpoint: { id, name }, close }: DialogProps) {
  const { api } = useScope();
  const [hours, setHours] = useState(usualOverlapHours);
  const rotate = useMutation({
    mutationFn: async () => {
      const body = { overlapHours: Number(hours) };
      return dataOf(await api.admin.POST('/webhooks/{id}/rotate-secret', { params: { path: { id } }, body }));
    },
  });
  if (rotate.data) {
    return (
      <SecretDialog
        title="The new secret"
        secret={rotate.data.secret}
        about={`Messages to ${name} are signed with it from now on: give it to the receiver.`}
        onClose={close}
      />
    );
  }
  return (
    <ConfirmDialog
      title={`Rotate the secret of ${name}`}
      confirm="Rotate the secret"
      isDangerous
      isRunning={rotate.isPending}
      error={rotate.error}
      onConfirm={rotate.mutate}
      onClose={close}
    >
      <p>
        Laurel creates a new secret and shows it once. Messages carry the signatures of both secrets until the old one ends; the header
        x-trophy-signature has the new one at once.
      </p>
      <TextField
        label="Hours until the old secret ends"
        type="number"
        value={hours}
        onChange={setHours}
        isRequired
        hint="0 to 168. With 0, receivers that have the old secret refuse messages at once."
      />
    </ConfirmDialog>
  );
}
