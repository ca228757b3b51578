import { keyLabel } from '../../access/key-store.js';
import { type Author, keyAuthor } from '../../config/store/author.js';
import type { Caller } from '../route.js';

/** The author of what a request changes in the configuration: its key, as it is named now. */
export async function authorOf({ services, principal: { keyId } }: Caller): Promise<Author> {
  return keyAuthor({ id: keyId, ...(await services.account.store((pool) => keyLabel(pool, keyId))) });
}
