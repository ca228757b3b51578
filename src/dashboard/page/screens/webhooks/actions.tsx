import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import { useAction } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { SecretDialog } from '../../ui/secret.js';
import { ErrorNote } from '../../ui/states.js';
import { TestDialog } from './test-dialog.js';
import type { Endpoint } from './types.js';

interface WebhookActionsProps {
  readonly endpoint: Endpoint;
  readonly onChanged: () => void;
}

/** What an operator does with an endpoint besides configuring it. */
export function WebhookActions({ endpoint, onChanged }: WebhookActionsProps) {
  const { api } = useScope();
  const [opened, setOpened] = useState<'test' | 'rotate' | 'off'>();
  const close = (): void => {
    setOpened(undefined);
  };
  const isActive = endpoint.status === 'active';
  const change = useAction(async () => {
    wholeBatch(await api.admin.PATCH('/webhooks', { body: [{ id: endpoint.id, status: isActive ? 'inactive' : 'active' }] }));
    onChanged();
    close();
  });
  return (
    <>
      {!isActive && change.error !== undefined && <ErrorNote error={change.error} />}
      <ChangeButton onClick={() => setOpened('test')}>Send a test</ChangeButton>
      <ChangeButton onClick={() => setOpened('rotate')}>Rotate the secret</ChangeButton>
      {isActive ? (
        <ChangeButton onClick={() => setOpened('off')}>Switch off</ChangeButton>
      ) : (
        <ChangeButton isDisabled={change.isRunning} onClick={() => void change.run()}>
          Switch on
        </ChangeButton>
      )}
      {opened === 'test' && <TestDialog endpoint={endpoint} onClose={close} />}
      {opened === 'rotate' && <RotateDialog endpoint={endpoint} onClose={close} />}
      {opened === 'off' && (
        <ConfirmDialog
          title={`Switch off ${endpoint.name}`}
          confirm="Switch off"
          isDangerous
          isRunning={change.isRunning}
          error={change.error}
          onConfirm={() => void change.run()}
          onClose={close}
        >
          <p>Laurel makes no messages for the endpoint until you switch it on again. What happens until then is not sent later.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** How long the old secret stays valid, unless the operator says otherwise. */
const usualOverlapHours = '24';

function RotateDialog({ endpoint: { id, name }, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const { api } = useScope();
  const [hours, setHours] = useState(usualOverlapHours);
  const [secret, setSecret] = useState<string>();
  const rotate = useAction(async () => {
    const { data } = await api.admin.POST('/webhooks/{id}/rotate-secret', {
      params: { path: { id } },
      body: { overlapHours: Number(hours) },
    });
    setSecret(data?.secret);
  });
  if (secret !== undefined) {
    return (
      <SecretDialog
        title="The new secret"
        secret={secret}
        about={`Messages to ${name} are signed with it from now on: give it to the receiver.`}
        onClose={onClose}
      />
    );
  }
  return (
    <ConfirmDialog
      title={`Rotate the secret of ${name}`}
      confirm="Rotate the secret"
      isDangerous
      isRunning={rotate.isRunning}
      error={rotate.error}
      onConfirm={() => void rotate.run()}
      onClose={onClose}
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
