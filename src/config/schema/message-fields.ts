/** The values that fields of `messages` and `templates` can have (kinds.ts). Each message is the rest of a sentence that starts with the field. */
import { type z } from 'zod';
import { limits } from '../../shared/limits.js';
import { checkedText, filledText, hinted, hourOfDay, keySchema, list, oneOf, text, whole } from './fields.js';
import { given, optional, orNone, setting, type SettingSpec } from './kind.js';
import { brandUrlFault, canonicalHost } from './links.js';
import { brandFonts, channels, notificationTypes } from './message-types.js';

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

/** The id of the user attribute that holds the locale of a user. */
const localeAttribute: SettingSpec<string | null> = {
  schema: keySchema,
  refers: { to: 'user attribute' },
  nullIsValue: true,
  initial: null,
};

export const messageSettings = {
  /** The channels on which each type is sent; none switches the type off. */
  achievementCompleted: setting(channelList, channels),
  recap: setting(channelList, channels),
  reactivation: setting(channelList, channels),
  streakReminder: setting(channelList, channels),
  brandName: setting(filledText(limits.maxBrandNameChars), 'Laurel'),
  /** `#rrggbb`, in lower case. */
  brandColor: setting(color, '#4f46e5'),
  brandFont: setting(oneOf(brandFonts), 'MODERN_SANS'),
  /** https, or http on this machine. */
  brandLogoUrl: orNone(brandUrl),
  /** The icon of the app, in web pushes. */
  brandIconUrl: orNone(brandUrl),
  brandUrl: orNone(brandUrl),
  /** The postal address in the footer of emails. */
  brandAddress: orNone(filledText(limits.maxBrandAddressChars)),
  /** Hosts (`example.com`, `example.com:8443`), in lower case, that links may lead to, besides the host of `brandUrl`. */
  linkHosts: setting(distinct(host, limits.maxLinkHosts, 'must not list a host twice'), []),
  /** BCP 47: of users whose attribute has no locale, and of templates that others fall back to. */
  defaultLocale: setting(locale, 'en'),
  localeAttribute,
  /** Local hours, from 0 to 23, between which no message is sent: from the one up to, but not at, the other, also over midnight. Both or neither. */
  quietFromHour: orNone(hourOfDay, 22),
  quietToHour: orNone(hourOfDay, 8),
  /** The most messages that a user gets in one local day. */
  maxPerUserDay: setting(whole(1, limits.maxMessagesPerUserDay), 3),
  /** For how long an achievement waits for others of the user, which join its message. Those that wait for their hours join each other anyway. */
  achievementGroupMinutes: setting(whole(0, limits.maxAchievementGroupMinutes), 10),
};

const line = optional(filledText(limits.maxTemplateLineChars), null);
/** An empty text is a value: the part is left out. */
const partial = optional(text(limits.maxTemplateLineChars), null);

export const templateFields = {
  name: given(filledText()),
  type: given(oneOf(notificationTypes)),
  /** BCP 47, canonical. At most one template that is not archived has the same type and locale. */
  locale: given(locale),
  subject: line,
  heading: partial,
  /** A blank line starts a new paragraph. */
  body: optional(filledText(limits.maxTemplateBodyChars), null),
  button: partial,
  buttonUrl: optional(filledText(limits.maxLinkChars), null),
  pushTitle: line,
  pushBody: line,
};
