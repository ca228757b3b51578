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

/** The canonical form of a BCP 47 language tag, `_` counting as `-`; undefined for any other text. */
export function canonicalLocale(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text.trim().replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}

/** A locale and what it falls back to, as RFC 4647 has it (section 3.4): `zh-Hant-TW`, `zh-Hant`, `zh`. */
export function fallbacksOf(locale: string): string[] {
  const parts = locale.split('-');
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('-')).filter((tag) => canonicalLocale(tag) !== undefined);
}

/** The direction in which a language is written. */
export const directionOf = (locale: string): 'ltr' | 'rtl' =>
  rightToLeftScripts.has(new Intl.Locale(locale).maximize().script) ? 'rtl' : 'ltr';
