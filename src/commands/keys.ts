import { createApplicationKeys } from '../access/key-store.js';
import { keyFields, type KeyLimits, keyPermissions } from '../access/keys.js';
import { defaultTenant, findTenant } from '../access/tenants.js';
import { idSchema } from '../engine/user-properties.js';
import type { Context } from '../app/context.js';
import type { Print } from '../app/output.js';
import { OperatorError } from '../shared/errors.js';
import { createAdminKeys, getAdminKeyByPrefix, listAdminKeys, updateAdminKeys } from '../access/admin-keys.js';
import { limits } from '../shared/limits.js';

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

/** `laurel keys create`. Throws an OperatorError for a key without a name or of an unknown tenant, and at the limit of keys. */
export async function createKey(
  context: Context,
  print: Print,
  {
    name,
    tenantId,
    readOnly = false,
  }: { readonly name: string; readonly tenantId: string | undefined; readonly readOnly?: boolean | undefined },
): Promise<void> {
  if (name.trim() === '') throw new OperatorError('Name the key: laurel keys create NAME.');
  const tenant = tenantId === undefined ? null : (await context.account.store((pool) => findTenant(pool, tenantId)))?.no;
  const [created] = await context.account.store((pool) => createAdminKeys(pool, [{ name, tenant, access: readOnly ? 'read' : 'full' }]));
  if (created === undefined || 'problem' in created) throw new OperatorError(created?.problem ?? 'No key was created.');
  await context.account.announce();
  await context.audit.note({ ...byCommand, operation: 'keys create', summary: `1 created: ${nameOf(created)}` });
  print(`The admin key, which is shown only this once: ${created.key}`);
}

export interface ApplicationKeyOptions {
  readonly user: string;
  readonly tenant?: string;
  /** Comma-separated. */
  readonly permissions?: string;
  readonly fields?: string;
  readonly maxEventValue?: string;
  readonly expires?: string;
}

/** The words of an option. Throws an OperatorError for one that is not of `known`. */
function wordsOf<T extends string>(option: string, text: string | undefined, known: readonly T[]): readonly T[] | null {
  if (text === undefined) return null;
  const words = text.split(',').filter((word) => word !== '');
  const unknown = words.find((word) => !known.some((one) => one === word));
  if (unknown !== undefined) throw new OperatorError(`${option}: ${JSON.stringify(unknown)} is not one of ${known.join(', ')}.`);
  return known.filter((one) => words.includes(one));
}

function limitsOf({ permissions, fields, maxEventValue, expires }: ApplicationKeyOptions): KeyLimits {
  const most = maxEventValue === undefined ? null : Number(maxEventValue);
  if (most !== null && !(maxEventValue?.trim() !== '' && most >= 0 && most <= limits.maxAbsoluteTotal)) {
    throw new OperatorError(`--max-event-value must be a number from 0 to ${limits.maxAbsoluteTotal}.`);
  }
  const at = expires === undefined ? null : new Date(expires);
  if (at && Number.isNaN(at.getTime())) throw new OperatorError('--expires must be a date such as 2027-01-31, or a date-time.');
  return {
    permissions: wordsOf('--permissions', permissions, keyPermissions),
    fields: wordsOf('--fields', fields, keyFields),
    maxEventValue: most,
    expires: at,
  };
}

/** `laurel keys create --user`: an application key. Throws an OperatorError for an unknown tenant or an invalid limit, and at the limit of keys. */
export async function createApplicationKey(context: Context, print: Print, how: ApplicationKeyOptions): Promise<void> {
  const { account } = context;
  const { user: userId, tenant: name } = how;
  const problem = idSchema.safeParse(userId).error?.issues[0]?.message;
  if (problem !== undefined) throw new OperatorError(`--user ${problem}.`);
  const keyLimits = limitsOf(how);
  const tenant = name === undefined ? defaultTenant : (await account.store((pool) => findTenant(pool, name)))?.no;
  if (tenant === undefined) throw new OperatorError('There is no tenant with this id or customerId.');
  const items = [{ userId, ...keyLimits }];
  const [created] = await account.store((pool) => createApplicationKeys(pool, { tenant, items, nowMs: account.now() }));
  if (created === undefined || 'problem' in created) throw new OperatorError(created?.problem ?? 'No key was created.');
  await context.audit.note({ ...byCommand, tenant, operation: 'keys create', summary: `1 created: ${created.prefix}`, users: [userId] });
  print(`The application key, which is shown only this once: ${created.key}`);
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
