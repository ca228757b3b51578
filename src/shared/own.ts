/**
 * The value of a key in an object whose keys callers, operators or other services choose; undefined if the object has none of its own. An object of
 * JavaScript inherits `constructor`, `toString` and others, so `record[key]` finds a function there.
 */
export const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
