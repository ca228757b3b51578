import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { signIn } from '../../api/session.js';
import { ErrorNote } from '../../ui/states.js';

interface SignInProps {
  /** Whether the page had a session before, which has ended. */
  readonly hasEnded: boolean;
  readonly onSignedIn: () => void;
}

/** Exchanges an admin key for a session. The page does not store the key. */
export function SignIn({ hasEnded, onSignedIn }: SignInProps) {
  const [key, setKey] = useState('');
  const { mutate, isPending, error } = useMutation({ mutationFn: () => signIn(key.trim()), onSuccess: onSignedIn });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate();
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h1>Laurel</h1>
        {hasEnded && (
          <p class="note warning" role="status">
            Your session has ended. Sign in to return to the screen where you were.
          </p>
        )}
        <p>Sign in with an admin key. A session lasts 8 hours and ends when the key is revoked.</p>
        <label class="field">
          <span>Admin key</span>
          <input
            name="key"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            value={key}
            onInput={(event) => {
              setKey(event.currentTarget.value);
            }}
          />
        </label>
        {error && <ErrorNote error={error} />}
        <button class="primary" type="submit" disabled={isPending}>
          {isPending ? 'Signing in' : 'Sign in'}
        </button>
        <p class="hint">
          The first start of Laurel prints a key, unless <code>ADMIN_API_KEY</code> is one. <code>npx laurel keys create</code> creates
          another.
        </p>
      </form>
    </main>
  );
}
