import { canonicalLocale } from '../../config/schema/message-fields.js';

const rightToLeftScripts: ReadonlySet<string | undefined> = new Set([
  'Adlm',
  'Arab',
  'Hebr',
  'Mand',
  'Nkoo',
  'Rohg',
  'Samr',
  'Syrc',
  'Thaa',
]);

/** The locale in an attribute of a user, in canonical form, `_` counting as `-`; undefined for any other text. */
export const localeOfAttribute = (text: string): string | undefined => canonicalLocale(text.trim().replaceAll('_', '-')) ?? undefined;

/** A locale and what it falls back to, as RFC 4647 has it (section 3.4): `zh-Hant-TW`, `zh-Hant`, `zh`. */
export function fallbacksOf(locale: string): string[] {
  const parts = locale.split('-');
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('-')).filter((tag) => canonicalLocale(tag) !== null);
}

/** The direction in which a language is written. */
export const directionOf = (locale: string): 'ltr' | 'rtl' =>
  rightToLeftScripts.has(new Intl.Locale(locale).maximize().script) ? 'rtl' : 'ltr';
