import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { ApiError } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { TextField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { ErrorNote } from '../../ui/states.js';
import { reasonNames } from './names.js';

/** What the service said about an address; `found` is undefined for one that receives emails. */
interface Looked {
  readonly email: string;
  readonly found: components['schemas']['Suppression'] | undefined;
}

/** Looks up whether an address receives emails, and changes it. Addresses can't be listed: only a hash of each is stored. */
export function Suppressions() {
  const { api } = useScope();
  const [email, setEmail] = useState('');
  const [looked, setLooked] = useState<Looked>();
  const params = { query: { email } };
  const look = useMutation({
    mutationFn: async (): Promise<Looked> => {
      const found = await api.admin.GET('/suppressions', { params }).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return { data: undefined };
        throw error;
      });
      return { email, found: found.data };
    },
    onSuccess: setLooked,
  });
  const suppress = useMutation({
    mutationFn: async (address: string): Promise<Looked> => {
      const { data } = await api.admin.POST('/suppressions', { body: { email: address } });
      return { email: address, found: data };
    },
    onSuccess: setLooked,
  });
  const release = useMutation({
    mutationFn: async (address: string): Promise<Looked> => {
      await api.admin.DELETE('/suppressions', { params: { query: { email: address } } });
      return { email: address, found: undefined };
    },
    onSuccess: setLooked,
  });
  const error = look.error ?? suppress.error ?? release.error;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setLooked(undefined);
    look.mutate();
  };
  return (
    <Panel title="Suppressed addresses">
      <p class="hint">
        Laurel sends no emails to a suppressed address. Only a hash of each address is stored, so they can be looked up but not listed.
      </p>
      <form class="inline" onSubmit={submit}>
        <TextField label="Email address" type="email" value={email} onChange={setEmail} isRequired />
        <button type="submit" disabled={look.isPending}>
          Look up
        </button>
      </form>
      {error && <ErrorNote error={error} />}
      <div role="status">
        {looked && (
          <p class="note">
            {looked.found ? (
              <>
                <span>
                  {looked.email} receives no emails: {reasonNames[looked.found.reason]}, <Moment at={looked.found.created} />.
                </span>
                <ChangeButton isDisabled={release.isPending} onClick={() => release.mutate(looked.email)}>
                  Send emails again
                </ChangeButton>
              </>
            ) : (
              <>
                <span>{looked.email} is not suppressed.</span>
                <ChangeButton isDisabled={suppress.isPending} onClick={() => suppress.mutate(looked.email)}>
                  Suppress the address
                </ChangeButton>
              </>
            )}
          </p>
        )}
      </div>
    </Panel>
  );
}
