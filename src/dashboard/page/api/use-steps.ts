import { useQueryClient } from '@tanstack/preact-query';
import { useEffect, useRef, useState } from 'preact/hooks';
import { apiQueries } from './client.js';

/** Work of many requests: each step says how far it has come. */
export interface Steps<T> {
  /** What the last step said; undefined before the first one. */
  readonly state: T | undefined;
  readonly isRunning: boolean;
  readonly error: unknown;
  readonly start: (work: AsyncIterable<T>) => void;
  /** Ends the work after the step that is running. */
  readonly stop: () => void;
  /** Forgets what came of it. */
  readonly reset: () => void;
}

/** Runs work in steps, until it is done, stopped, or no longer shown. Then everything that the screen shows is read again. */
export function useSteps<T>(): Steps<T> {
  const queries = useQueryClient();
  const [state, setState] = useState<T>();
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>(undefined);
  const stop = (): void => running.current?.abort();
  useEffect(() => stop, []);
  const reset = (): void => {
    setState(undefined);
    setError(undefined);
  };
  const run = async (work: AsyncIterable<T>): Promise<void> => {
    const { signal } = (running.current = new AbortController());
    reset();
    setIsRunning(true);
    try {
      for await (const step of work) {
        setState(step);
        if (signal.aborted) break;
      }
    } catch (failure) {
      setError(failure);
    }
    setIsRunning(false);
    void queries.invalidateQueries({ queryKey: apiQueries });
  };
  return { state, isRunning, error, start: (work) => void run(work), stop, reset };
}
