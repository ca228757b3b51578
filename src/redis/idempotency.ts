/** What begins the short form of a key: a control character, which no caller's key has. */
const shortMark = '\u0001';
const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const uuidParts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
export const uuidBytes = 16;
/** Bytes of a moment in milliseconds since 1970. */
const momentBytes = 6;

/** A UUID as its 16 bytes. */
export const bytesOfUuid = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** The UUID of 16 bytes. */
export const uuidOfBytes = (bytes: Buffer): string => bytes.toString('hex').replace(uuidParts, '$1-$2-$3-$4-$5');

/** An idempotency key as Redis and the ledger have it: a UUID in lower case, as most clients send, takes 23 bytes and not 36. */
export function storedKey(key: string): string {
  return uuidShape.test(key) ? shortMark + bytesOfUuid(key).toString('base64url') : key;
}

/** The key that a caller sent, from what Redis and the ledger have. */
export function keyOfStored(stored: string): string {
  return stored.startsWith(shortMark) ? uuidOfBytes(Buffer.from(stored.slice(1), 'base64url')) : stored;
}

/** What Redis keeps of a key that was used: the event's id, and the moment from which on the key ages, in milliseconds since 1970 (lua/event.lua). */
export function usedKey(eventId: string, at: number): Buffer {
  const value = Buffer.concat([bytesOfUuid(eventId), Buffer.alloc(momentBytes)]);
  value.writeUIntBE(at, uuidBytes, momentBytes);
  return value;
}

/** The event's id and the moment, as a text; hexadecimal digits of a value of another length. */
export function usedKeyText(value: Buffer): string {
  if (value.length !== uuidBytes + momentBytes) return `0x${value.toString('hex')}`;
  return `${uuidOfBytes(value.subarray(0, uuidBytes))} ${value.readUIntBE(uuidBytes, momentBytes)}`;
}
