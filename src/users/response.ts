import type { ProfileFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userFields } from '../redis/contract.js';
import type { UserResponse } from './shapes.js';

/** Milliseconds since 1970 as an ISO 8601 instant. */
export function instant(ms: number | string): string {
  return new Date(Number(ms)).toISOString();
}

/** A user as the APIs show it, from the fields of the user's hash. Values of archived attributes are kept but not shown. */
export function userResponse(config: ActiveConfig, id: string, fields: ProfileFact): UserResponse {
  const attributes: Record<string, string> = {};
  for (const { no, key } of config.userAttributes.values()) {
    const value = fields[`${userFields.attribute}${no}`];
    if (value !== undefined) attributes[key] = value;
  }
  const tokens = fields[userFields.deviceTokens];
  return {
    id,
    email: fields[userFields.email] ?? null,
    name: fields[userFields.name] ?? null,
    tz: fields[userFields.tz] || null,
    deviceTokens: tokens ? (JSON.parse(tokens) as string[]) : null,
    subscribeToEmails: fields[userFields.subscribeToEmails] === '1',
    attributes,
    control: fields[userFields.control] === '1',
    created: instant(fields[userFields.created] ?? 0),
    updated: instant(fields[userFields.updated] ?? 0),
  };
}
