import { createContext, type ComponentChildren } from 'preact';
import { useContext, useLayoutEffect } from 'preact/hooks';
import { sentenceOf } from '../api/errors.js';
import type { Read } from '../api/query-client.js';

/** An error, in the words of the service. */
export function ErrorNote({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  return (
    <div class="note error" role="alert">
      <span>{sentenceOf(error)}</span>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Counts the reads of a screen that opens. */
export const OpeningContext = createContext<(by: number) => void>(() => undefined);

export function Loading() {
  const count = useContext(OpeningContext);
  useLayoutEffect(() => {
    count(1);
    return () => count(-1);
  }, []);
  return (
    <div class="loading" role="status">
      <progress aria-label="Loading" />
    </div>
  );
}

/** What there is to do where a list is empty. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** Shows what a read returned: progress before it, the error in place of it. */
export function Loaded<T>({ of, children }: { readonly of: Read<T>; readonly children: (data: T) => ComponentChildren }) {
  const { data, error, refetch } = of;
  return (
    <>
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined ? !error && <Loading /> : children(data)}
    </>
  );
}
