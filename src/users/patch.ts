import type { ActiveConfig } from '../plan/active-config.js';
import { userFields } from '../redis/contract.js';
import { attributePairs } from './attributes.js';
import type { UserProperties } from './schema.js';

/**
 * The properties that a caller sent, as flat pairs of field and text for the function library: only what was sent is touched, and what
 * was sent as null is cleared, which the library keeps as an empty text. Attribute keys have been checked. An address that is sent together with
 * `subscribeToEmails: false` is not stored (contract, `UpdatedUser`).
 */
export function userPatch(config: ActiveConfig, user: UserProperties): string[] {
  const pairs: string[] = [];
  if (user.name !== undefined) pairs.push(userFields.name, user.name);
  if (user.email !== undefined && user.subscribeToEmails !== false) pairs.push(userFields.email, user.email);
  if (user.tz !== undefined) pairs.push(userFields.tz, user.tz ?? '');
  if (user.subscribeToEmails !== undefined) pairs.push(userFields.subscribeToEmails, user.subscribeToEmails ? '1' : '0');
  if (user.deviceTokens !== undefined) pairs.push(userFields.deviceTokens, user.deviceTokens ? JSON.stringify(user.deviceTokens) : '');
  return pairs.concat(attributePairs(user.attributes, config.userAttributes, userFields.attribute));
}
