import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf, wholeBatch } from '../../api/errors.js';
import { useChange } from '../../api/use-change.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Change, ChangeDialog } from '../../ui/change-dialog.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { SecretDialog } from '../../ui/secret.js';
import { ErrorNote } from '../../ui/states.js';
import { TestDialog } from './test-dialog.js';
import type { Endpoint } from './types.js';

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
