import { Packr, Unpackr } from 'msgpackr';

/** MessagePack as Lua's cmsgpack writes and reads it: no extensions, numbers as numbers. */
const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

export function packMessage(value: unknown): Buffer {
  return packr.pack(value);
}

/** Unpacks values that stand one after the other. Throws when there are none, or when one is cut off. */
export function unpackSequence(blob: Buffer): unknown[] {
  const values = unpackr.unpackMultiple(blob) as unknown[] | undefined;
  if (!values) throw new Error('values of MessagePack were expected');
  return values;
}

/** Unpacks what the function library packed. What it is, the caller says: the library and it are one version. */
export function unpackMessage(blob: unknown): unknown {
  if (!Buffer.isBuffer(blob)) throw new Error('a MessagePack buffer was expected');
  return unpackr.unpack(blob);
}
