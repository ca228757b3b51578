import { userFields, userRecords } from './contract.js';
import { placeOf, type Layout, type Place } from './layout.js';
import { unpackMessage } from './message.js';

/** A list of the user's hash, unpacked. */
export type Unpacked = readonly unknown[];

/** What stands at a place of an unpacked list; undefined where nothing does. */
export function at<L extends Layout>(list: Unpacked, layout: L, place: Place<L>): unknown {
  const value = list[placeOf(layout, place)];
  return value === false || value === null ? undefined : value;
}

/** A user's hash: field (contract.ts, userRecords) → value. */
export type UserHash = ReadonlyMap<string, Buffer>;

/** A list of a user's hash; empty when the hash does not have it. */
export function listOf(hash: UserHash, record: string): Unpacked {
  const blob = hash.get(record);
  return blob ? (unpackMessage(blob) as Unpacked) : [];
}

/** A map of a user's hash; empty when the hash does not have it. (Lua's empty table is packed as a list.) */
export function mapOf<T>(hash: UserHash, record: string): Readonly<Record<string, T>> {
  const blob = hash.get(record);
  return blob ? Object.fromEntries(Object.entries(unpackMessage(blob) as object)) : {};
}

/** The totals of a user's metrics or points systems: `no` → total. */
export function totalsOf(hash: UserHash, layout: 'metric' | 'points'): Map<number, number> {
  const start = userRecords[layout];
  const totals = new Map<number, number>();
  for (const record of hash.keys()) {
    const total = record.startsWith(start) ? at(listOf(hash, record), layout, 'total') : undefined;
    if (typeof total === 'number') totals.set(Number(record.slice(start.length)), total);
  }
  return totals;
}

/** A user's profile, as the ledger tells it: userFields → text. */
export function profileOf(hash: UserHash): Record<string, string> {
  const core = listOf(hash, userRecords.core);
  const profile: Record<string, string> = { ...mapOf<string>(hash, userRecords.profile) };
  for (const [no, value] of Object.entries(mapOf<string>(hash, userRecords.attributes))) profile[userFields.attribute + no] = value;
  for (const place of ['created', 'createdDay', 'tz', 'streakPreferences'] as const) {
    const value = at(core, 'core', place) as string | number | undefined;
    if (value !== undefined) profile[userFields[place]] = String(value);
  }
  const name = hash.get(userRecords.name);
  if (name) profile[userFields.name] = name.toString();
  return profile;
}
