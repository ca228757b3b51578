import { z } from 'zod';
import { instantShape } from '../shapes.js';

/** The contract's `User`. */
export const userShape = z
  .object({
    id: z.string().meta({ description: 'The id that the caller chose.' }),
    email: z.string().nullable(),
    name: z.string().nullable(),
    tz: z.string().nullable().meta({ description: "The IANA time zone; null is the account's default one." }),
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
        evaluationMode: z.enum(['AND', 'OR']),
        metrics: z.array(z.object({ key: z.string(), threshold: z.number() })),
      })
      .optional()
      .meta({ description: "The user's own streak conditions, if the user has chosen any." }),
  })
  .meta({ id: 'Preferences' });
export type PreferencesResponse = z.infer<typeof preferencesShape>;
