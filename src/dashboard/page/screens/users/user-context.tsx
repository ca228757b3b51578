import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import type { components } from '../../api/schema/admin.js';
import { useRead, type Read } from '../../api/use-read.js';

export type Profile = components['schemas']['User'];

/** What the parts of a user's screen share. */
export interface OneUser {
  readonly profile: Profile;
  /** Parts that read something about the user, which they do again after a change. */
  readonly readers: Set<() => void>;
  /** Says what a change has done, and reads everything again. */
  readonly changed: (sentence: string) => void;
  /** The user has been erased. */
  readonly erased: () => void;
}

export const UserContext = createContext<OneUser | undefined>(undefined);

export function useUser(): OneUser {
  const user = useContext(UserContext);
  if (!user) throw new Error('a part of a user outside the screen');
  return user;
}

/** Reads something about the user, and again after each change. What is shown stays until the new data is there. */
export function useUserRead<T>(read: () => Promise<{ data?: T }>, inputs: readonly unknown[] = []): Read<T> {
  const { profile, readers } = useUser();
  const of = useRead(read, [profile.id, ...inputs]);
  useEffect(() => {
    readers.add(of.reload);
    return () => {
      readers.delete(of.reload);
    };
  }, [readers, of.reload]);
  return of;
}
