import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { formatNumber } from './numbers.js';
import { Empty } from './states.js';

interface ShowMoreProps<T> {
  readonly items: readonly T[];
  /** How many to show at first, and how many more with each step. */
  readonly count: number;
  readonly empty: ComponentChildren;
  readonly children: (item: T) => ComponentChildren;
}

/** Shows the first items of a list that has been read whole, and more on demand. */
export function ShowMore<T>({ items, count, empty, children }: ShowMoreProps<T>) {
  const [shown, setShown] = useState(count);
  if (items.length === 0) return <Empty>{empty}</Empty>;
  const left = items.length - shown;
  return (
    <>
      {items.slice(0, shown).map(children)}
      {left > 0 && (
        <button
          type="button"
          onClick={() => {
            setShown(shown + count);
          }}
        >
          Show {formatNumber(Math.min(left, count))} more of {formatNumber(left)}
        </button>
      )}
    </>
  );
}
