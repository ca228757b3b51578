import type { Base } from '../base.js';
import { OperatorError } from '../errors.js';
import { createAdminKeys, listAdminKeys, updateAdminKeys, type AdminKey } from '../keys/admin-keys.js';
import { limits } from '../limits.js';

/** Takes one plain line for the operator. */
export type Print = (line: string) => void;

const allKeys = (base: Base): Promise<AdminKey[]> =>
  base.account.store((pool) => listAdminKeys(pool, { limit: limits.maxAdminKeys, skip: 0 }));

const moment = (date: Date | null): string => date?.toISOString().slice(0, 16).replace('T', ' ') ?? 'never';

/** `laurel keys list` */
export async function listKeys(base: Base, print: Print): Promise<void> {
  for (const { prefix, name, status, lastUsed } of await allKeys(base))
    print(`${prefix}  ${status}  last used ${moment(lastUsed)}  ${name}`);
}

/** `laurel keys create`. Throws an OperatorError when there are too many. */
export async function createKey(base: Base, print: Print, name: string): Promise<void> {
  const [made] = await base.account.store((pool) => createAdminKeys(pool, [name]));
  if (made === undefined || 'problem' in made) throw new OperatorError(made?.problem ?? 'No key was made.');
  await base.account.announce();
  print(`The admin key, which is shown only this once: ${made.key}`);
}

/** `laurel keys revoke`. Throws an OperatorError for an unknown key, and for the last one that is active. */
export async function revokeKey(base: Base, print: Print, prefix: string): Promise<void> {
  const found = (await allKeys(base)).find((key) => key.prefix === prefix);
  if (!found) throw new OperatorError(`There is no admin key ${prefix}: laurel keys list shows them.`);
  const [revoked] = await base.account.store((pool) => updateAdminKeys(pool, [{ id: found.id, status: 'revoked' }]));
  if (revoked && 'problem' in revoked) throw new OperatorError(revoked.problem);
  await base.account.announce();
  print(`${prefix} is revoked: no process accepts it any more.`);
}
