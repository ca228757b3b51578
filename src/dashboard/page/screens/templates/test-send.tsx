import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import type { Keyed } from '../../editor/file/json.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { TextField } from '../../ui/field.js';
import { Panel } from '../../ui/page.js';
import { ErrorNote } from '../../ui/states.js';
import { renderRequest } from './request.js';

/** Sends the email of the draft to one address, as the chosen user would receive it. */
export function TestSend({ template, user }: { readonly template: Keyed; readonly user: string }) {
  const { api } = useScope();
  const [email, setEmail] = useState('');
  const send = useMutation({
    mutationFn: async () => {
      const body = { ...renderRequest(template, user), email };
      const { sent, status, detail } = dataOf(await api.admin.POST('/messages/test', { body }));
      const reply = detail === null ? '' : status === null ? ` ${detail}` : ` The server replied: ${detail}`;
      return { isSent: sent, sentence: `${sent ? `Sent to ${email}.` : `Not sent to ${email}.`}${reply}` };
    },
  });
  const { data: outcome, isPending, error } = send;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <Panel title="Send a test">
      <form class="inline" onSubmit={submit}>
        <TextField label="To" type="email" value={email} onChange={setEmail} isRequired placeholder="you@example.com" />
        <ChangeButton type="submit" isDisabled={isPending}>
          {isPending ? 'Sending' : 'Send the email'}
        </ChangeButton>
      </form>
      {error && <ErrorNote error={error} />}
      {outcome && (
        <div class={`note ${outcome.isSent ? 'good' : 'error'}`} role="status">
          <span>{outcome.sentence}</span>
        </div>
      )}
    </Panel>
  );
}
