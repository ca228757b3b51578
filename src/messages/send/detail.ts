import { limits } from '../../shared/limits.js';

const addresses = /[^\s<>()[\],;:"']+@[^\s<>()[\],;:"']+/gu;

/** A provider's answer for storage: without addresses and the values in `personal`, which servers like to repeat, on one line, and short. */
export function detailOf(text: string, personal: readonly string[] = []): string {
  const known = personal.filter((value) => value !== '').reduce((rest, value) => rest.replaceAll(value, '[removed]'), text);
  return known
    .replaceAll(addresses, '[removed]')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, limits.maxMessageDetailChars)
    .toWellFormed();
}
