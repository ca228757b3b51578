import { keepPreviousData, useMutation, useQuery } from '@tanstack/preact-query';
import { useId, useState, useEffect, useRef } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import { type Keyed, fieldOf } from '../../editor/file/json.js';
import { useScope } from '../../scope/scope.js';
import { Field, TextField } from '../../ui/field.js';
import { Panel } from '../../ui/page.js';
import { Empty, ErrorNote, Loading } from '../../ui/states.js';
import { useAddress } from '../../scope/use-address.js';
import type { components } from '../../api/schema/admin.js';
import { ChangeButton } from '../../ui/change-button.js';

const settleMs = 400;

/** A value that changes while the operator types, once it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMs);
    return () => {
      clearTimeout(timer);
    };
  }, [key]);
  return settled;
}

type Texts = components['schemas']['TemplateTexts'];

const textFields = ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'] as const;

/** What renders a template of the draft for a user, before it is applied. */
interface RenderRequest {
  readonly type: components['schemas']['Message']['type'];
  readonly userId: string;
  readonly locale?: string;
  readonly template: Texts;
}

/** Fields that are not texts yet are left to the service, which says what is wrong with them. */
function renderRequest(template: Keyed, userId: string): RenderRequest {
  const locale = fieldOf(template, 'locale');
  const texts = textFields.map((field) => [field, fieldOf(template, field) ?? null]);
  return {
    type: fieldOf(template, 'type') as RenderRequest['type'],
    userId,
    ...(typeof locale === 'string' ? { locale } : {}),
    template: Object.fromEntries(texts) as Texts,
  };
}

/**
 * An email in a document of its own, which has no origin and runs nothing of the email (src/dashboard/preview-frame.ts). The page's own policy
 * has no inline styles, so the email can't be part of it.
 */
function EmailFrame({ html }: { readonly html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const isReady = useRef(false);
  const show = (): void => {
    // A document without an origin can't be named as the target.
    frame.current?.contentWindow?.postMessage(html, '*');
  };
  useEffect(() => {
    if (isReady.current) show();
  }, [html]);
  return (
    <iframe
      ref={frame}
      class="email"
      title="Preview of the email"
      src="/dashboard/preview"
      sandbox="allow-scripts"
      onLoad={() => {
        isReady.current = true;
        show();
      }}
    />
  );
}

/** Sends the email of the draft to one address, as the chosen user would receive it. */
function TestSend({ template, user }: { readonly template: Keyed; readonly user: string }) {
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

/** How a message with the texts of the draft looks to a user, as the operator types. */
export function Preview({ template }: { readonly template: Keyed }) {
  const { query, change } = useAddress();
  const user = query['user'] ?? '';
  return (
    <div class="stack preview">
      <Panel title="Preview">
        <UserPicker user={user} onChange={(chosen) => change({ user: chosen })} />
        {user === '' ? (
          <Empty>Choose a user to see the message as that user would receive it now.</Empty>
        ) : (
          <Rendered template={template} user={user} />
        )}
      </Panel>
      {user !== '' && <TestSend template={template} user={user} />}
    </div>
  );
}

function Rendered({ template, user }: { readonly template: Keyed; readonly user: string }) {
  const { api } = useScope();
  const body = useSettled(renderRequest(template, user));
  const preview = api.query(['preview', body], async ({ signal }) => dataOf(await api.admin.POST('/messages/preview', { body, signal })));
  // The last preview stays in view while the next one is rendered.
  const { data: shown, error } = useQuery({ ...preview, placeholderData: keepPreviousData });
  return (
    <>
      {error && <ErrorNote error={error} />}
      {!shown && !error && <Loading />}
      {shown && (
        <>
          <dl class="rendered">
            <div>
              <dt>Subject</dt>
              <dd>{shown.subject}</dd>
            </div>
            <div>
              <dt>Push notification</dt>
              <dd>
                <strong>{shown.push.title}</strong>
                <p>{shown.push.body}</p>
                {shown.push.url !== null && <p class="about">Opens {shown.push.url}</p>}
              </dd>
            </div>
          </dl>
          {shown.warnings.map((warning) => (
            <div class="note warning" key={warning}>
              <span>{warning}</span>
            </div>
          ))}
          <EmailFrame html={shown.html} />
          <details>
            <summary>Plain text</summary>
            <pre class="plain-text" tabIndex={0}>
              {shown.text}
            </pre>
          </details>
        </>
      )}
    </>
  );
}

/** How many users the picker names at once. */
const namedUsers = 10;

/** A user by id, email address or name, with those who match what is typed. */
function UserPicker({ user, onChange }: { readonly user: string; readonly onChange: (user: string) => void }) {
  const { api } = useScope();
  const [typed, setTyped] = useState(user);
  const search = useSettled(typed.trim());
  const list = useId();
  const matching = (text: string) => ({ params: { query: { limit: namedUsers, ...(text === '' ? {} : { search: text }) } } });
  const found = useQuery(api.admin.query('/users', matching(search)));
  const choose = (id: string): void => {
    setTyped(id);
    onChange(id);
  };
  const find = useMutation({
    mutationFn: async (text: string) => {
      const users = dataOf(await api.admin.GET('/users', matching(text)));
      return users.filter(({ id }) => id === text || !users.some((other) => other.id === text));
    },
    onSuccess: ([only, ...others]) => {
      if (only && others.length === 0) choose(only.id);
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    find.mutate(typed.trim());
  };
  return (
    <form class="inline" role="search" onSubmit={submit}>
      <Field label="User">
        {({ id }) => (
          <input
            id={id}
            type="text"
            list={list}
            value={typed}
            placeholder="Id, email address or name"
            onInput={(event) => {
              const { value } = event.currentTarget;
              find.reset();
              setTyped(value);
              if (found.data?.some((each) => each.id === value)) onChange(value);
            }}
          />
        )}
      </Field>
      <datalist id={list}>
        {(found.data ?? []).map(({ id, name, email }) => (
          <option key={id} value={id}>
            {[name, email].filter(Boolean).join(', ')}
          </option>
        ))}
      </datalist>
      <button type="submit" disabled={find.isPending}>
        Show preview
      </button>
      {find.error && <ErrorNote error={find.error} />}
      {find.data && find.data.length !== 1 && (
        <div class="note matches" role="status">
          {find.data.length === 0
            ? 'No user matches. Type the start of an id, of an email address, or of the words of a name.'
            : 'Several users match. Choose one:'}
          {find.data.map(({ id, name, email }) => (
            <button
              key={id}
              type="button"
              onClick={() => {
                find.reset();
                choose(id);
              }}
            >
              {[name, email, id].filter(Boolean).join(' · ')}
            </button>
          ))}
        </div>
      )}
    </form>
  );
}
