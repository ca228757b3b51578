/** Addresses of screens, without a browser. */

/** Changes of the parameters of an address; undefined and the empty text take one out. */
export type QueryChanges = Readonly<Record<string, string | number | undefined>>;

/** The address of a screen with other parameters. Other parameters than the page lead back to the first page. */
export function addressWith(path: string, query: Readonly<Record<string, string>>, changes: QueryChanges): string {
  const kept = 'page' in changes ? query : { ...query, page: '' };
  const parameters = Object.entries({ ...kept, ...changes })
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]): [string, string] => [name, String(value)]);
  const text = new URLSearchParams(parameters).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The number of a page, from 1; the first one for anything else. */
export function pageNumber(text: string | undefined): number {
  const page = Number(text);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}
