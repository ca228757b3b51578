import '../common/screens.css';
import type { components } from '../../api/schema/admin.js';
import { useChange } from '../../api/use-change.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Dialog } from '../../ui/dialog.js';
import { Facts } from '../../ui/facts.js';
import { Moment } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { ErrorNote } from '../../ui/states.js';
import { Attempts } from '../common/attempts.js';
import { StatusBadge } from '../common/status-badge.js';
import { channelNames, typeNames } from './names.js';

interface MessageDialogProps {
  readonly message: components['schemas']['Message'];
  readonly onClose: () => void;
}

/** A message with its attempts, and the button that sends it again. */
export function MessageDialog({ message, onClose }: MessageDialogProps) {
  const { api, href } = useScope();
  const { id } = message;
  const { mutate, isPending, error } = useChange(() => api.admin.POST('/messages/{id}/resend', { params: { path: { id } } }), onClose);
  return (
    <Dialog title={`${typeNames[message.type]} · ${channelNames[message.channel]}`} onClose={onClose}>
      <div class="stack">
        <Facts
          facts={[
            { title: 'Status', value: <StatusBadge status={message.status} /> },
            { title: 'User', value: <a href={href(`/users/${encodeURIComponent(message.userId)}`)}>{message.userId}</a> },
            { title: 'Due', value: <Moment at={message.due} /> },
            { title: 'Queued', value: <Moment at={message.created} /> },
            { title: 'Finished', value: <Moment at={message.finished} /> },
            { title: 'Next attempt', value: message.nextAttempt === null ? 'none' : <Moment at={message.nextAttempt} /> },
            { title: 'Id', value: <code>{id}</code> },
          ]}
        />
        <h3>Attempts</h3>
        <Attempts attempts={message.tries} />
        <h3>About</h3>
        <Json value={message.about} />
        {error && <ErrorNote error={error} />}
        <footer class="actions">
          <p class="hint">Laurel checks again whether the user may receive it, and skips it otherwise.</p>
          <ChangeButton kind="primary" isDisabled={isPending} onClick={mutate}>
            Send again
          </ChangeButton>
        </footer>
      </div>
    </Dialog>
  );
}
