import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { own } from '../../../../../shared/own.js';
import type { components } from '../../../api/schema/application.js';
import type { operations } from '../../../api/schema/admin.js';
import { dataOf } from '../../../api/errors.js';
import { useChange } from '../../../api/use-change.js';
import { useScope } from '../../../scope/scope.js';
import { ChangeButton } from '../../../ui/change-button.js';
import { Dialog } from '../../../ui/dialog.js';
import { SelectField, TextField } from '../../../ui/field.js';
import { Json } from '../../../ui/json.js';
import { Empty, ErrorNote, Loaded } from '../../../ui/states.js';
import { changesOfEvent, headerText } from './event-summary.js';
import { useUser } from '../user-context.js';

type Metric = operations['admin_metrics_list']['responses']['200']['content']['application/json'][number];
type Attribute = operations['admin_attributes_list']['responses']['200']['content']['application/json'][number];

const listed = { params: { query: { limit: 100 } } } as const;

/** Sends an event of the user through the API, and shows what it changed. */
export function EventDialog({ close }: { readonly close: () => void }) {
  const { api, href } = useScope();
  const choices = useQuery(
    api.query(['event choices'], async () => {
      const [metrics, attributes] = await Promise.all([api.admin.GET('/metrics', listed), api.admin.GET('/attributes', listed)]);
      return { metrics: dataOf(metrics), attributes: dataOf(attributes).filter(({ type }) => type === 'event') };
    }),
  );
  return (
    <Dialog title="Send a test event" onClose={close}>
      <Loaded of={choices}>
        {({ metrics, attributes }) =>
          metrics.length === 0 ? (
            <Empty>
              There are no metrics yet. <a href={href('/configuration/metrics')}>Create one</a>.
            </Empty>
          ) : (
            <EventForm metrics={metrics} attributes={attributes} close={close} />
          )
        }
      </Loaded>
    </Dialog>
  );
}

interface EventFormProps {
  readonly metrics: readonly Metric[];
  readonly attributes: readonly Attribute[];
  readonly close: () => void;
}

function EventForm({ metrics, attributes, close }: EventFormProps) {
  const { api } = useScope();
  const user = useUser();
  const [metric, setMetric] = useState(metrics[0]?.key ?? '');
  const [value, setValue] = useState('1');
  const [sent, setSent] = useState<Readonly<Record<string, string>>>({});
  const [idempotencyKey, setIdempotencyKey] = useState('');
  const sendEvent = async () => {
    const used = Object.fromEntries(Object.entries(sent).filter(([, text]) => text !== ''));
    return dataOf(
      await api.application.POST('/metrics/{key}/event', {
        params: { path: { key: metric }, ...(idempotencyKey === '' ? {} : { header: { 'Idempotency-Key': headerText(idempotencyKey) } }) },
        body: { user: { id: user.profile.id }, value: Number(value), ...(Object.keys(used).length === 0 ? {} : { attributes: used }) },
      }),
    );
  };
  const {
    mutate,
    isPending,
    error,
    data: response,
  } = useChange(sendEvent, ({ idempotentReplayed }) => {
    user.say(idempotentReplayed === true ? 'The key was used before: nothing was counted.' : 'The test event is counted.');
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <p class="hint">It counts like every event of the user, and can’t be taken back.</p>
      <SelectField
        label="Metric"
        value={metric}
        onChange={setMetric}
        options={metrics.map(({ key, name }) => ({ value: key, label: name }))}
      />
      <TextField
        label="Value"
        type="number"
        step="any"
        isRequired
        value={value}
        onChange={setValue}
        hint="Added to the total. It may be negative."
      />
      {attributes.map(({ key, name }) => (
        <TextField key={key} label={name} value={own(sent, key) ?? ''} onChange={(text) => setSent({ ...sent, [key]: text })} />
      ))}
      <TextField
        label="Idempotency key"
        value={idempotencyKey}
        onChange={setIdempotencyKey}
        hint="Optional. An event with a key that the user has used on this metric counts nothing."
      />
      {error && <ErrorNote error={error} />}
      {response && <EventResult event={response} />}
      <footer class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
        <ChangeButton kind="primary" type="submit" isDisabled={isPending}>
          {response ? 'Send another' : 'Send the event'}
        </ChangeButton>
      </footer>
    </form>
  );
}

function EventResult({ event }: { readonly event: components['schemas']['Event'] }) {
  return (
    <section class="event-result" aria-label="What the event changed">
      <h3>What the event changed</h3>
      <div role="status">
        <ul>
          {changesOfEvent(event).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </div>
      <details>
        <summary>Response of the API</summary>
        <Json value={event} />
      </details>
    </section>
  );
}
