import { useScope } from '../../scope/scope.js';

/** Leads to the screen of a user. */
export function UserLink({ id }: { readonly id: string }) {
  const { href } = useScope();
  return <a href={href(`/users/${encodeURIComponent(id)}`)}>{id}</a>;
}
