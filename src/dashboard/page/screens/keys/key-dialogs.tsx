import { useState } from 'preact/hooks';
import { wholeBatch } from '../../api/errors.js';
import type { Api } from '../../api/client.js';
import { useScope } from '../../scope/scope.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { TextField } from '../../ui/field.js';
import type { AdminKey } from './types.js';

export type KeyTask = 'rename' | 'rotate' | 'revoke' | 'delete';

interface TaskText {
  /** The verb on the button. */
  readonly confirm: string;
  /** What will happen. */
  readonly about: string;
  readonly isDangerous: boolean;
}

const texts: Readonly<Record<KeyTask, TaskText>> = {
  rename: { confirm: 'Rename', about: 'Only the name changes.', isDangerous: false },
  rotate: {
    confirm: 'Create the new key',
    about: 'Laurel creates a key with the same name and access. Both keys are valid until you revoke the old one.',
    isDangerous: false,
  },
  revoke: {
    confirm: 'Revoke the key',
    about: 'Every process refuses the key within a second, and its sessions end. You cannot activate it again.',
    isDangerous: true,
  },
  delete: {
    confirm: 'Delete the key',
    about: 'Laurel revokes the key, ends its sessions and removes it from this list. You cannot undo this.',
    isDangerous: true,
  },
};

/** Does a task. Resolves with the new key of a rotation. */
async function perform({ admin }: Api, task: KeyTask, id: string, name: string): Promise<string | undefined> {
  switch (task) {
    case 'rename':
      wholeBatch(await admin.PATCH('/admin-api-keys', { body: [{ id, name }] }));
      return undefined;
    case 'rotate':
      return wholeBatch(await admin.POST('/admin-api-keys/rotate', { body: [{ id }] })).created[0]?.key;
    case 'revoke':
      wholeBatch(await admin.PATCH('/admin-api-keys', { body: [{ id, status: 'revoked' }] }));
      return undefined;
    case 'delete':
      wholeBatch(await admin.DELETE('/admin-api-keys', { params: { query: { ids: [id] } } }));
      return undefined;
  }
}

interface KeyDialogProps {
  readonly task: KeyTask;
  readonly adminKey: AdminKey;
  /** Called with the new key of a rotation. */
  readonly onDone: (created: string | undefined) => void;
  readonly close: () => void;
}

/** Asks before a task on an admin key, and does it. */
export function KeyDialog({ task, adminKey, onDone, close }: KeyDialogProps) {
  const { api, session } = useScope();
  const [name, setName] = useState(adminKey.name);
  const { confirm, about, isDangerous } = texts[task];
  const isOwn = adminKey.id === session.key.id;
  return (
    <ChangeDialog
      title={`${confirm}: ${adminKey.name === '' ? adminKey.prefix : adminKey.name}`}
      confirm={confirm}
      isDangerous={isDangerous}
      close={close}
      change={() => perform(api, task, adminKey.id, name)}
      onChanged={onDone}
    >
      <p>{about}</p>
      {isOwn && isDangerous && <p class="note warning">You are signed in with this key: you will be signed out.</p>}
      {task === 'rename' && <TextField label="Name" value={name} onChange={setName} />}
    </ChangeDialog>
  );
}
