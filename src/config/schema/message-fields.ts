/** The values that fields of `messages` and `templates` can have (kinds.ts). Each message is the rest of a sentence that starts with the field. */
import { type z } from 'zod';
import { limits } from '../../shared/limits.js';
import { checkedText, filledText, hinted, hourOfDay, keySchema, list, oneOf, text, whole } from './fields.js';
import { type FieldSpec, given, optional, type Specs, type Common } from './kind.js';
import { brandUrlFault, canonicalHost } from './links.js';
import { channels, notificationTypes } from './message-types.js';
import { brandFonts, type MessageSettings, type MessageTemplate } from './model.js';

/** The canonical form of a BCP 47 tag; null for another text. */
export function canonicalLocale(value: string): string | null {
  if (value.length > limits.maxLocaleChars) return null;
  try {
    return Intl.getCanonicalLocales(value)[0] ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const locale = hinted(
  checkedText('a locale such as en or pt-BR', (value) =>
    canonicalLocale(value) === null ? `must be a BCP 47 locale such as en or pt-BR, not ${JSON.stringify(value.slice(0, 60))}` : null,
  ).overwrite((value) => canonicalLocale(value) ?? value),
  { 'x-format': 'locale', maxLength: limits.maxLocaleChars },
);

const hex = /^#[\da-f]{6}$/i;
const color = hinted(
  checkedText('a color such as "#4f46e5"', (value) =>
    hex.test(value) ? null : `must be a color such as "#4f46e5", not ${JSON.stringify(value.slice(0, 60))}`,
  ).overwrite((value) => value.toLowerCase()),
  { 'x-format': 'color', pattern: '^#[0-9a-fA-F]{6}$' },
);

const host = checkedText('a host such as app.example.com', (value) =>
  canonicalHost(value) === null ? `must be a host such as app.example.com, not ${JSON.stringify(value.slice(0, 60))}` : null,
).overwrite((value) => canonicalHost(value) ?? value);

const brandUrl = checkedText('a URL like https://example.com', brandUrlFault);

const distinct = <T extends z.ZodType>(element: T, most: number, message: string) =>
  list(element, most).refine((values) => new Set(values).size === values.length, { error: message });

const channelList = distinct(oneOf(channels), channels.length, 'must not list a channel twice');

/** Null is a value of its own: none. */
const orNone = (schema: z.ZodType): FieldSpec<never> => ({ schema, nullIsValue: true });

export const messageSettings = {
  achievementCompleted: given(channelList),
  recap: given(channelList),
  reactivation: given(channelList),
  streakReminder: given(channelList),
  brandName: given(filledText(limits.maxBrandNameChars)),
  brandColor: given(color),
  brandFont: given(oneOf(brandFonts)),
  brandLogoUrl: orNone(brandUrl),
  brandIconUrl: orNone(brandUrl),
  brandUrl: orNone(brandUrl),
  brandAddress: orNone(filledText(limits.maxBrandAddressChars)),
  linkHosts: given(distinct(host, limits.maxLinkHosts, 'must not list a host twice')),
  defaultLocale: given(locale),
  localeAttribute: { schema: keySchema, refers: { to: 'user attribute' }, nullIsValue: true },
  quietFromHour: orNone(hourOfDay),
  quietToHour: orNone(hourOfDay),
  maxPerUserDay: given(whole(1, limits.maxMessagesPerUserDay)),
  achievementGroupMinutes: given(whole(0, limits.maxAchievementGroupMinutes)),
} satisfies Specs<MessageSettings>;

const line = optional(filledText(limits.maxTemplateLineChars), null);
/** An empty text is a value: the part is left out. */
const partial = optional(text(limits.maxTemplateLineChars), null);

export const templateFields = {
  name: given(filledText()),
  type: given(oneOf(notificationTypes)),
  locale: given(locale),
  subject: line,
  heading: partial,
  body: optional(filledText(limits.maxTemplateBodyChars), null),
  button: partial,
  buttonUrl: optional(filledText(limits.maxLinkChars), null),
  pushTitle: line,
  pushBody: line,
} satisfies Specs<MessageTemplate, Common>;
