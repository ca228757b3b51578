import { z } from 'zod';
import type { ProfileFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userFields } from '../redis/contract.js';
import { dayToDate } from '../shared/calendar.js';
import { dateShape, instantShape } from '../shared/shapes.js';

/** The contract's `User`. */
export const userShape = z
  .object({
    id: z.string().meta({ description: 'The id that the caller chose.' }),
    email: z.string().nullable(),
    name: z.string().nullable(),
    tz: z.string().nullable().meta({ description: "The IANA time zone; null is the account's default one." }),
    signUpDate: dateShape.nullable().meta({ description: 'The local date on which the user signed up.' }),
    deviceTokens: z.array(z.string()).nullable(),
    subscribeToEmails: z.boolean(),
    attributes: z.record(z.string(), z.string()).meta({ description: 'Attribute key → value.' }),
    control: z.boolean().meta({ description: 'Whether the user is in the control group.' }),
    created: instantShape,
    updated: instantShape.meta({ description: 'When a property last changed.' }),
  })
  .meta({ id: 'User' });
export type UserResponse = z.infer<typeof userShape>;

const channelsShape = z.array(z.enum(['email', 'push'])).optional();

/** The contract's `UserPreferencesResponse`: types of notification without a preference are left out. */
export const preferencesShape = z
  .object({
    notifications: z.object({
      achievement_completed: channelsShape,
      recap: channelsShape,
      reactivation: channelsShape,
      streak_reminder: channelsShape,
    }),
    streak: z
      .object({
        enabled: z.boolean(),
        evaluationMode: z.enum(['AND', 'OR']).optional(),
        metrics: z.array(z.object({ key: z.string(), threshold: z.number() })).optional(),
        daysOff: z.array(z.number().int()).optional(),
      })
      .optional()
      .meta({
        description:
          "Whether the user has streaks; and the user's own conditions and days off, if there are any and personalization is on. Days off are those of daily streaks, from 0 (Sunday) to 6.",
      }),
  })
  .meta({ id: 'Preferences' });
export type PreferencesResponse = z.infer<typeof preferencesShape>;

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
  const signUpDay = fields[userFields.signUpDay];
  return {
    id,
    email: fields[userFields.email] || null,
    name: fields[userFields.name] || null,
    tz: fields[userFields.tz] || null,
    signUpDate: signUpDay ? dayToDate(Number(signUpDay)) : null,
    deviceTokens: tokens ? (JSON.parse(tokens) as string[]) : null,
    subscribeToEmails: fields[userFields.subscribeToEmails] === '1',
    attributes,
    control: fields[userFields.control] === '1',
    created: instant(fields[userFields.created] ?? 0),
    updated: instant(fields[userFields.updated] ?? 0),
  };
}
