import { findTenant } from '../../access/tenants.js';
import type { Context } from '../context.js';
import { OperatorError } from '../../shared/errors.js';
import { createAdminKeys, getAdminKeyByPrefix, listAdminKeys, updateAdminKeys } from '../../access/admin-keys.js';
import { limits } from '../../shared/limits.js';

/** Prints a line for the operator. */
export type Print = (line: string) => void;

const formatTime = (date: Date | null): string => date?.toISOString().slice(0, 16).replace('T', ' ') ?? 'never';

const byCommand = { tenant: null, keyId: null, via: 'command' } as const;
const nameOf = ({ name, prefix }: { readonly name: string; readonly prefix: string }): string =>
  name === '' ? prefix : `${name} (${prefix})`;

/** `laurel keys list` */
export async function listKeys(context: Context, print: Print): Promise<void> {
  for (let skip = 0; ; skip += limits.maxAdminKeys) {
    const keys = await context.account.store((pool) => listAdminKeys(pool, { limit: limits.maxAdminKeys, skip }));
    for (const { prefix, name, status, access, lastUsed, tenantId } of keys)
      print(
        `${prefix}  ${status}  ${access === 'read' ? 'read-only  ' : ''}last used ${formatTime(lastUsed)}  ${tenantId === null ? '' : `tenant ${tenantId}  `}${name}`,
      );
    if (keys.length < limits.maxAdminKeys) return;
  }
}

/** `laurel keys create`. Throws an OperatorError for an unknown tenant, and at the limit of keys. */
export async function createKey(
  context: Context,
  print: Print,
  {
    name,
    tenantId,
    readOnly = false,
  }: { readonly name: string; readonly tenantId: string | undefined; readonly readOnly?: boolean | undefined },
): Promise<void> {
  const tenant = tenantId === undefined ? null : (await context.account.store((pool) => findTenant(pool, tenantId)))?.no;
  const [created] = await context.account.store((pool) => createAdminKeys(pool, [{ name, tenant, access: readOnly ? 'read' : 'full' }]));
  if (created === undefined || 'problem' in created) throw new OperatorError(created?.problem ?? 'No key was created.');
  await context.account.announce();
  await context.audit.note({ ...byCommand, operation: 'keys create', summary: `1 created: ${nameOf(created)}` });
  print(`The admin key, which is shown only this once: ${created.key}`);
}

/** `laurel keys revoke`. Throws an OperatorError for an unknown key, and for the last one that is active. */
export async function revokeKey(context: Context, print: Print, prefix: string): Promise<void> {
  const found = await context.account.store((pool) => getAdminKeyByPrefix(pool, prefix));
  if (!found) throw new OperatorError(`There is no admin key ${prefix}: laurel keys list shows them.`);
  const [revoked] = await context.account.store((pool) => updateAdminKeys(pool, [{ id: found.id, status: 'revoked' }]));
  if (revoked && 'problem' in revoked) throw new OperatorError(revoked.problem);
  await context.account.announce();
  await context.audit.note({ ...byCommand, operation: 'keys revoke', summary: `1 revoked: ${nameOf(found)}` });
  print(`${prefix} is revoked: every process refuses it within a second.`);
}
