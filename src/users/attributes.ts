import type { Attribute } from '../config/model.js';
import { andMore, LaurelError } from '../errors.js';
import { limits } from '../limits.js';

export type AttributeValues = Readonly<Record<string, string>>;

/**
 * Refuses attribute keys that the configuration does not have, naming all of them at once (spec, "Errors" 1). Each pair is what the
 * caller sent and where the allowed keys are.
 */
export function checkAttributeKeys(...sent: readonly (readonly [AttributeValues | undefined, ReadonlyMap<string, Attribute>])[]): void {
  const unknown = sent.flatMap(([values, known]) => Object.keys(values ?? {}).filter((key) => !known.has(key)));
  if (unknown.length === 0) return;
  const keys = [...new Set(unknown)];
  throw new LaurelError(
    'unprocessable',
    `Invalid attribute keys: ${keys.slice(0, limits.maxComplaints).join(', ')}${andMore(keys.length)}. Please ensure all attribute keys match those set up under \`attributes\` in the tenant's configuration file, or with POST /admin/v1/attributes.`,
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
