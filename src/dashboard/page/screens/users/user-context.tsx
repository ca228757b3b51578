import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Read } from '../../api/query-client.js';
import type { components } from '../../api/schema/admin.js';

export type Profile = components['schemas']['User'];

/** What the parts of a user's screen share. */
interface OneUser {
  readonly profile: Profile;
  /** The user's time zone: that of `settings` if the user has none. Undefined while it is not known. */
  readonly zone: string | undefined;
  readonly settings: Read<unknown>;
  /** Says what a change has done. */
  readonly say: (sentence: string) => void;
  /** The user has been erased. */
  readonly erased: () => void;
}

export const UserContext = createContext<OneUser | undefined>(undefined);

export function useUser(): OneUser {
  const user = useContext(UserContext);
  if (!user) throw new Error('a part of a user outside the screen');
  return user;
}
