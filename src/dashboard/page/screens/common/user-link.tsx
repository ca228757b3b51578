import { useScope } from '../../scope/scope.js';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useAddress } from '../../scope/use-address.js';
import { TextField } from '../../ui/field.js';

/** Filters of a list, with the id of a user (`?user=`) as the last one. */
export function UserFilter({ children }: { readonly children?: ComponentChildren }) {
  const { query, change } = useAddress();
  const current = query['user'] ?? '';
  const [user, setUser] = useState(current);
  useEffect(() => {
    setUser(current);
  }, [current]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    change({ user });
  };
  return (
    <form class="inline" role="search" onSubmit={submit}>
      {children}
      <TextField label="User id" type="search" value={user} onChange={setUser} />
      <button type="submit">Filter</button>
    </form>
  );
}

/** Leads to the screen of a user. */
export function UserLink({ id }: { readonly id: string }) {
  const { href } = useScope();
  return <a href={href(`/users/${encodeURIComponent(id)}`)}>{id}</a>;
}
