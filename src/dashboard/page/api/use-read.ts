import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** What a screen knows of data that it reads. `data` stays while it is read again. */
export interface Read<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Reads again. */
  readonly reload: () => void;
}

type State<T> = Omit<Read<T>, 'reload'>;

/**
 * Reads data when a screen opens, and again when `inputs` change. A read whose inputs are no longer current is dropped. `refreshMs` reads
 * again at this interval while the page is visible and no read is in flight: an answer that takes longer than the interval is shown, too.
 */
export function useRead<T>(read: () => Promise<{ data?: T }>, inputs: readonly unknown[], refreshMs?: number): Read<T> {
  const [state, setState] = useState<State<T>>({ data: undefined, error: undefined, isLoading: true });
  const [reads, setReads] = useState(0);
  const isReading = useRef(false);
  const reload = useCallback(() => {
    setReads((count) => count + 1);
  }, []);
  useEffect(() => {
    // The data of other inputs must not be shown for these.
    setState({ data: undefined, error: undefined, isLoading: true });
  }, inputs);
  useEffect(() => {
    let isCurrent = true;
    const end = (stateAfter: (before: State<T>) => State<T>): void => {
      if (!isCurrent) return;
      isReading.current = false;
      setState(stateAfter);
    };
    isReading.current = true;
    setState(({ data }) => ({ data, error: undefined, isLoading: true }));
    read().then(
      ({ data }) => end(() => ({ data, error: undefined, isLoading: false })),
      (error: unknown) => end(({ data }) => ({ data, error, isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, reads]);
  useEffect(() => {
    if (refreshMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !isReading.current) reload();
    }, refreshMs);
    return () => {
      clearInterval(timer);
    };
  }, [refreshMs]);
  return { ...state, reload };
}

/** A change that the operator starts: whether it is running, and what went wrong with the last one. */
export interface Action<A extends readonly unknown[]> {
  readonly run: (...args: A) => Promise<boolean>;
  readonly isRunning: boolean;
  readonly error: unknown;
}

/** Runs a change once at a time. `run` resolves with whether it succeeded. */
export function useAction<A extends readonly unknown[]>(work: (...args: A) => Promise<unknown>): Action<A> {
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({ isRunning: false, error: undefined });
  const run = async (...args: A): Promise<boolean> => {
    if (state.isRunning) return false;
    setState({ isRunning: true, error: undefined });
    try {
      await work(...args);
      setState({ isRunning: false, error: undefined });
      return true;
    } catch (error) {
      setState({ isRunning: false, error });
      return false;
    }
  };
  return { ...state, run };
}
