/** What a tenant has one of: settings and streak settings, and the whole configuration as a file. */
import { z } from 'zod';
import { changeSettings, EditRefusal } from '../../config/edits.js';
import { exportConfig } from '../../config/export.js';
import {
  dayOfMonth,
  endHour,
  evaluationMode,
  hourOfDay,
  number,
  oneOf,
  positive,
  reactivationDays,
  retentionDays,
  timeZone,
  whole,
  yesOrNo,
} from '../../config/fields.js';
import { recapFrequencies, weekdays, type Settings, type StreakSettings } from '../../config/model.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { defineRoute, type Route, type Services } from '../route.js';
import { listOf, uuid } from './requests.js';

const weekStarts = ['monday', 'sunday'] as const;
const frequencies = ['daily', 'weekly', 'monthly'] as const;

const settings = z.object({
  controlRatio: z.number(),
  weekStart: z.enum(weekStarts),
  defaultTimeZone: z.string(),
  idempotencyRetentionDays: z.number().nullable(),
  recapFrequency: z.enum(recapFrequencies),
  emailHour: z.number(),
  reactivationDays: z.array(z.number()).readonly(),
  streakReminderHour: z.number(),
  streakReminderWeekday: z.enum(weekdays),
  streakReminderDay: z.number(),
  achievementFromHour: z.number(),
  achievementToHour: z.number(),
}) satisfies z.ZodType<Settings>;

const settingsChange = z.object({
  controlRatio: number(0, 1, 'decimal').optional(),
  weekStart: oneOf(weekStarts).optional(),
  defaultTimeZone: timeZone.optional(),
  idempotencyRetentionDays: retentionDays.nullable().optional(),
  recapFrequency: oneOf(recapFrequencies).optional(),
  emailHour: hourOfDay.optional(),
  reactivationDays: reactivationDays.optional(),
  streakReminderHour: hourOfDay.optional(),
  streakReminderWeekday: oneOf(weekdays).optional(),
  streakReminderDay: dayOfMonth.optional(),
  achievementFromHour: hourOfDay.optional(),
  achievementToHour: endHour.optional(),
});

const streakSettings = z.object({
  enabled: z.boolean(),
  frequency: z.enum(frequencies),
  evaluationMode: z.enum(['AND', 'OR']),
  metrics: z.array(z.object({ metricId: z.uuid(), threshold: z.number() })).readonly(),
  freezes: z.object({ initial: z.number(), maximum: z.number(), earnInterval: z.number(), earnAmount: z.number() }),
  personalization: z.boolean(),
}) satisfies z.ZodType<StreakSettings>;

const streakSettingsChange = z.object({
  enabled: yesOrNo.optional(),
  frequency: oneOf(frequencies).optional(),
  evaluationMode: evaluationMode.optional(),
  metrics: listOf(z.object({ metricId: uuid, threshold: positive }), limits.maxStreakConditions).optional(),
  freezes: z
    .object({
      initial: whole(0, limits.maxFreezes).optional(),
      maximum: whole(0, limits.maxFreezes).optional(),
      earnInterval: whole(0, limits.maxFreezeIntervalDays).optional(),
      earnAmount: whole(0, limits.maxFreezes).optional(),
    })
    .optional(),
  personalization: yesOrNo.optional(),
});

/** Changes one part of the configuration and returns it. Throws a 422 with everything that is wrong. */
function change<P extends 'settings' | 'streaks'>({ configuration }: Services, tenant: number, part: P, given: object) {
  return configuration.edit(tenant, (before, context) => {
    try {
      // Of the freezes, too, what is not sent stays as it is.
      const fields = 'freezes' in given ? { ...given, freezes: { ...before.streaks.freezes, ...(given.freezes as object) } } : given;
      const document = changeSettings(before, part, fields, context);
      return Promise.resolve({ document, result: document[part] });
    } catch (error) {
      if (error instanceof EditRefusal) throw new LaurelError('unprocessable', error.message, { cause: error });
      throw error;
    }
  });
}

const nothing = z.object({});

export const settingsAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/settings',
    summary: 'Get the settings',
    operation: 'admin_settings_get',
    answers: { 200: settings },
    params: nothing,
    query: nothing,
    body: null,
    handle: async ({ services, tenant }) => ({ status: 200, body: (await services.configuration.read(tenant)).settings }),
  }),
  defineRoute({
    method: 'patch',
    path: '/settings',
    summary: 'Change settings',
    operation: 'admin_settings_update',
    answers: { 200: settings },
    params: nothing,
    query: nothing,
    body: settingsChange,
    handle: async ({ services, tenant, body }) => ({ status: 200, body: await change(services, tenant, 'settings', body) }),
  }),
  defineRoute({
    method: 'get',
    path: '/streak-settings',
    summary: 'Get the streak settings',
    operation: 'admin_streak_settings_get',
    answers: { 200: streakSettings },
    params: nothing,
    query: nothing,
    body: null,
    handle: async ({ services, tenant }) => ({ status: 200, body: (await services.configuration.read(tenant)).streaks }),
  }),
  defineRoute({
    method: 'patch',
    path: '/streak-settings',
    summary: 'Change streak settings',
    operation: 'admin_streak_settings_update',
    description: '`freezes` is changed field by field, `metrics` as a whole.',
    answers: { 200: streakSettings },
    params: nothing,
    query: nothing,
    body: streakSettingsChange,
    handle: async ({ services, tenant, body }) => ({ status: 200, body: await change(services, tenant, 'streaks', body) }),
  }),
  defineRoute({
    method: 'get',
    path: '/config',
    summary: 'Export the configuration as a YAML file that `laurel apply` takes',
    operation: 'admin_config_export',
    description: 'Applied where it came from, the file changes nothing.',
    answers: { 200: z.string() },
    produces: 'application/yaml; charset=utf-8',
    params: nothing,
    query: nothing,
    body: null,
    handle: async ({ services, tenant }) => ({
      status: 200,
      body: exportConfig(await services.configuration.read(tenant)),
    }),
  }),
];
