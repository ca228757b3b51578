import { useLocation } from 'preact-iso';
import { addressWith, type QueryChanges } from './address.js';

/** The parameters of the address of a screen, which hold the state that is worth a link. */
export interface Address {
  readonly query: Readonly<Record<string, string>>;
  /** The address with changed parameters, for a link. */
  readonly with: (changes: QueryChanges) => string;
  /** Goes to the address with changed parameters. */
  readonly change: (changes: QueryChanges) => void;
}

export function useAddress(): Address {
  const { path, query, route } = useLocation();
  return {
    query,
    with: (changes) => addressWith(path, query, changes),
    change: (changes) => {
      route(addressWith(path, query, changes));
    },
  };
}
