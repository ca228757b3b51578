import { Packr, Unpackr } from 'msgpackr';

/** MessagePack as Lua's cmsgpack writes and reads it: no extensions, numbers as numbers. */
const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

export function packMessage(value: unknown): Buffer {
  return packr.pack(value);
}

/** Unpacks what the function library packed. The type is the caller's claim; the library and it are one version. */
export function unpackMessage<T>(blob: unknown): T {
  if (!Buffer.isBuffer(blob)) throw new Error('a MessagePack buffer was expected');
  return unpackr.unpack(blob) as T;
}
