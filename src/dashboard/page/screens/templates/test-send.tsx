import { useState } from 'preact/hooks';
import { useAction } from '../../api/use-read.js';
import { dataOf } from '../../configuration/api.js';
import type { Keyed } from '../../configuration/json.js';
import { useScope } from '../../scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { TextField } from '../../ui/field.js';
import { Panel } from '../../ui/page.js';
import { ErrorNote } from '../../ui/states.js';
import { renderRequest } from './request.js';

/** Sends the email of the draft to one address, as the chosen user would receive it. */
export function TestSend({ template, user }: { readonly template: Keyed; readonly user: string }) {
  const { api } = useScope();
  const [email, setEmail] = useState('');
  const [outcome, setOutcome] = useState<{ readonly isSent: boolean; readonly sentence: string }>();
  const send = useAction(async () => {
    setOutcome(undefined);
    const { sent, status, detail } = dataOf(await api.admin.POST('/messages/test', { body: { ...renderRequest(template, user), email } }));
    const reply = detail === null ? '' : status === null ? ` ${detail}` : ` The server replied: ${detail}`;
    setOutcome({ isSent: sent, sentence: `${sent ? `Sent to ${email}.` : `Not sent to ${email}.`}${reply}` });
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send.run();
  };
  return (
    <Panel title="Send a test">
      <form class="inline" onSubmit={submit}>
        <TextField label="To" type="email" value={email} onChange={setEmail} isRequired placeholder="you@example.com" />
        <ChangeButton type="submit" isDisabled={send.isRunning}>
          {send.isRunning ? 'Sending' : 'Send the email'}
        </ChangeButton>
      </form>
      {send.error !== undefined && <ErrorNote error={send.error} />}
      {outcome && (
        <div class={`note ${outcome.isSent ? 'good' : 'error'}`} role="status">
          <span>{outcome.sentence}</span>
        </div>
      )}
    </Panel>
  );
}
