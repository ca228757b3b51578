/** The most rows that a list of the configuration returns at once. */
const rowsPerRead = 100;

/** The object of the configuration that has a key, which an address names it by. The Admin API reads objects by id. */
export async function findByKey<T extends { readonly key: string }>(
  key: string,
  read: (range: { limit: number; skip: number }) => Promise<{ data?: readonly T[] }>,
): Promise<T | undefined> {
  for (let skip = 0; ; skip += rowsPerRead) {
    const { data = [] } = await read({ limit: rowsPerRead, skip });
    const found = data.find((one) => one.key === key);
    if (found || data.length < rowsPerRead) return found;
  }
}
