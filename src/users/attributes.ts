import type { Attribute } from '../config/model.js';
import { LaurelError } from '../errors.js';

export type AttributeValues = Readonly<Record<string, string>>;

/**
 * Refuses attribute keys that the configuration does not have, naming all of them at once (spec, "Errors" 1). Each pair is what the
 * caller sent and where the allowed keys are.
 */
export function checkAttributeKeys(...sent: readonly (readonly [AttributeValues | undefined, ReadonlyMap<string, Attribute>])[]): void {
  const unknown = sent.flatMap(([values, known]) => Object.keys(values ?? {}).filter((key) => !known.has(key)));
  if (unknown.length === 0) return;
  throw new LaurelError(
    'unprocessable',
    `Invalid attribute keys: ${[...new Set(unknown)].join(', ')}. Please ensure all attribute keys match those set up in the configuration of this account.`,
  );
}

/** Pairs of attribute no and value, flat, for the function library. The keys have been checked. */
export function attributePairs(values: AttributeValues | undefined, known: ReadonlyMap<string, Attribute>, prefix = ''): string[] {
  const pairs: string[] = [];
  for (const [key, value] of Object.entries(values ?? {})) {
    const attribute = known.get(key);
    if (attribute) pairs.push(prefix + String(attribute.no), value);
  }
  return pairs;
}
