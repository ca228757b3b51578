import { useMutation, useQueryClient } from '@tanstack/preact-query';
import { apiQueries } from './client.js';

/** A change that the operator makes. Once it is made, everything that the screen shows is read again. */
export function useChange<T, V = void>(change: (variables: V) => Promise<T>, onChanged?: (result: T) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (result) => {
      void queries.invalidateQueries({ queryKey: apiQueries });
      onChanged?.(result);
    },
  });
}
