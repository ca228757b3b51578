import { Packr, Unpackr } from 'msgpackr';
import { userFields, userRecords } from './contract.js';
import { correctionMark, placeOf, usedKeyMomentBytes, uuidBytes, type Layout, type Place } from './layout.js';

/** MessagePack as Lua's cmsgpack writes and reads it: no extensions, numbers as numbers. */
const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

export function packMessage(value: unknown): Buffer {
  return packr.pack(value);
}

/** Unpacks consecutive values. Throws if there are none, or if the last one is truncated. */
export function unpackSequence(blob: Buffer): unknown[] {
  const values = unpackr.unpackMultiple(blob) as unknown[] | undefined;
  if (!values) throw new Error('expected MessagePack values');
  return values;
}

/** Unpacks a value of the function library. The caller names its type, since the library and the service are one version. */
export function unpackMessage(blob: unknown): unknown {
  if (!Buffer.isBuffer(blob)) throw new Error('expected a MessagePack buffer');
  return unpackr.unpack(blob);
}

/** The start of a key's short form: a control character, which a caller's key can't contain. */
const shortMark = '\u0001';
const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A UUID as its 16 bytes. */
export const bytesOfUuid = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** The UUID of 16 bytes. */
export function uuidOfBytes(bytes: Buffer): string {
  const digits = bytes.toString('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}

/** An idempotency key as Redis and the ledger store it: a lower-case UUID, which most clients send, takes 23 bytes instead of 36. */
export function storedKey(key: string): string {
  return uuidShape.test(key) ? shortMark + bytesOfUuid(key).toString('base64url') : key;
}

/** A caller's key, from its stored form. */
export function keyOfStored(stored: string): string {
  return stored.startsWith(shortMark) ? uuidOfBytes(Buffer.from(stored.slice(1), 'base64url')) : stored;
}

/** The idempotency key of the correction of an event. */
export const correctionKey = (eventId: string): string => correctionMark + eventId;

/** The event that the event with an idempotency key corrects; undefined for one that is no correction. */
export const correctedEvent = (key: string | null): string | undefined => (key?.startsWith(correctionMark) ? key.slice(1) : undefined);

/** The stored value of a used key: the event's id, and when the key starts to age, in ms since 1970 (lua/event.lua). */
export function usedKey(eventId: string, at: number): Buffer {
  const value = Buffer.concat([bytesOfUuid(eventId), Buffer.alloc(usedKeyMomentBytes)]);
  value.writeUIntBE(at, uuidBytes, usedKeyMomentBytes);
  return value;
}

/** When a used key starts to age, in ms since 1970; undefined for a value of another length. */
export function usedKeyMs(value: Buffer): number | undefined {
  return value.length === uuidBytes + usedKeyMomentBytes ? value.readUIntBE(uuidBytes, usedKeyMomentBytes) : undefined;
}

/** The event's id and the time, as a text; hexadecimal digits for a value of another length. */
export function usedKeyText(value: Buffer): string {
  const at = usedKeyMs(value);
  return at === undefined ? `0x${value.toString('hex')}` : `${uuidOfBytes(value.subarray(0, uuidBytes))} ${at}`;
}

/** A list of the user's hash, unpacked. */
export type Unpacked = readonly unknown[];

/** The value at a position of an unpacked list; undefined for none. */
export function at<L extends Layout>(list: Unpacked, layout: L, place: Place<L>): unknown {
  const value = list[placeOf(layout, place)];
  return value === false || value === null ? undefined : value;
}

/** A user's hash: field (contract.ts, userRecords) → value. */
export type UserHash = ReadonlyMap<string, Buffer>;

/** A list of a user's hash; empty if the hash lacks it. */
export function listOf(hash: UserHash, record: string): Unpacked {
  const blob = hash.get(record);
  return blob ? (unpackMessage(blob) as Unpacked) : [];
}

/** A map of a user's hash; empty if the hash lacks it. (Lua's empty table is packed as a list.) */
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

/** A user's profile in the ledger: userFields → text. */
export function profileOf(hash: UserHash): Record<string, string> {
  const core = listOf(hash, userRecords.core);
  const profile: Record<string, string> = { ...mapOf<string>(hash, userRecords.profile) };
  for (const [no, value] of Object.entries(mapOf<string>(hash, userRecords.attributes))) profile[userFields.attribute + no] = value;
  for (const place of ['created', 'createdDay', 'tz', 'streakPreferences', 'signUpDay'] as const) {
    const value = at(core, 'core', place) as string | number | undefined;
    if (value !== undefined) profile[userFields[place]] = String(value);
  }
  const name = hash.get(userRecords.name);
  if (name) profile[userFields.name] = name.toString();
  return profile;
}
