/** The options of a filter: all, and each name. */
export const filterOptions = (names: Readonly<Record<string, string>>): { value: string; label: string }[] => [
  { value: '', label: 'All' },
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];

/** The value of a filter in an address; undefined for a text that is none of them. */
export const filterValue = <K extends string>(names: Readonly<Record<K, string>>, text: string | undefined): K | undefined =>
  text !== undefined && Object.hasOwn(names, text) ? (text as K) : undefined;
