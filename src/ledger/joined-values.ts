const lengthBytes = 4;

/** Values one after the other, each behind its length in bytes (big-endian, four bytes): as lua/modules/ledger.lua joins them. */
export function joinValues(values: readonly Buffer[]): Buffer {
  return Buffer.concat(
    values.flatMap((value) => {
      const length = Buffer.allocUnsafe(lengthBytes);
      length.writeUInt32BE(value.length);
      return [length, value];
    }),
  );
}

/** The values that `joinValues`, or the function library, has joined. Throws a RangeError when the last one is cut off. */
export function splitValues(joined: Buffer): Buffer[] {
  const values: Buffer[] = [];
  for (let at = 0; at < joined.length;) {
    const start = at + lengthBytes;
    at = start + joined.readUInt32BE(at);
    if (at > joined.length) throw new RangeError('a joined value is cut off');
    values.push(joined.subarray(start, at));
  }
  return values;
}
