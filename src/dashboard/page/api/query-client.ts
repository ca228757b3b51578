import { QueryClient, type UseQueryResult } from '@tanstack/preact-query';

/** What a screen knows of data that it reads. `data` stays while it is read again. */
export type Read<T> = Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>;

/** A read whose data is there once another read has ended too, so that a screen shows both at once. */
export const readAfter = <T>({ data, error, refetch }: Read<T>, other: Pick<UseQueryResult, 'isPending'>): Read<T> => ({
  data: other.isPending ? undefined : data,
  error,
  refetch,
});

/** Reads when a screen opens, at the interval that the screen sets, and after a change. A request that fails is repeated only by the operator. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: { retry: false, refetchOnWindowFocus: false, refetchOnReconnect: false, networkMode: 'always' },
      mutations: { networkMode: 'always' },
    },
  });
