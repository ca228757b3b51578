/** The id of a stream entry, `milliseconds-number`, with which the next entry that can be would be named. */
export function idAfter(id: string): string {
  const [ms = '0', seq = '0'] = id.split('-');
  return `${ms}-${BigInt(seq) + 1n}`;
}
