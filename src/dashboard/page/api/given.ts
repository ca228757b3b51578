type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The parameters of a request that have a value. */
export const given = <T extends object>(parameters: T): Given<T> =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined)) as Given<T>;
