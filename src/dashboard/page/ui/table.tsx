import type { ComponentChildren } from 'preact';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Numbers are aligned on the right. */
  readonly isNumber?: boolean;
}

export interface TableProps<T> {
  /** Names the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Shown in place of the table when it has no rows. */
  readonly empty?: ComponentChildren;
  /** The class of a row, to mark some. */
  readonly classOf?: (row: T) => string | undefined;
  /** Whether each row becomes a card on a narrow screen. */
  readonly hasCards?: boolean;
}

/** The most columns that a narrow screen has room for. */
const narrowColumns = 3;

/** A dense table. A wide one becomes a list of cards on a narrow screen. */
export function Table<T>({ caption, columns, rows, keyOf, empty, classOf, hasCards = columns.length > narrowColumns }: TableProps<T>) {
  if (rows.length === 0 && empty !== undefined) return <div class="empty">{empty}</div>;
  // The roles are those of the elements, which some browsers forget where cards are no longer displayed as a table.
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label={caption}>
      <table role="table" class={hasCards ? 'cards' : undefined}>
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, isNumber }) => (
              <th key={title} role="columnheader" scope="col" class={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={classOf?.(row)}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} role="cell" class={isNumber ? 'number' : undefined} data-title={title}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PagerProps {
  /** What the pages are of, for screen readers. */
  readonly of: string;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
  readonly onPrevious: () => void;
  readonly onNext: () => void;
  readonly label?: string;
}

/** Moves between the pages of a list, which the service pages. */
export function Pager({ of, hasPrevious, hasNext, onPrevious, onNext, label }: PagerProps) {
  if (!hasPrevious && !hasNext) return null;
  return (
    <nav class="pager" aria-label={`Pages of ${of}`}>
      <button type="button" disabled={!hasPrevious} onClick={onPrevious}>
        Previous
      </button>
      {label !== undefined && <span>{label}</span>}
      <button type="button" disabled={!hasNext} onClick={onNext}>
        Next
      </button>
    </nav>
  );
}
