import './bars.css';
import type { ComponentChildren } from 'preact';
import { formatNumber, formatShare } from './format.js';
import { Table } from './table.js';

interface Bar {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly value: number;
}

interface BarsProps {
  /** Names the bars for screen readers. */
  readonly caption: string;
  /** The heading of the labels. */
  readonly of: string;
  /** The heading of the values. */
  readonly unit: string;
  readonly bars: readonly Bar[];
  /** What the bars are shares of. */
  readonly total?: number;
}

/** Numbers as bars, each with its label, its value and its share. */
export function Bars({ caption, of, unit, bars, total = 0 }: BarsProps) {
  const highest = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <div class="bars">
      <Table
        caption={caption}
        hasCards={false}
        rows={bars}
        keyOf={({ key }) => key}
        columns={[
          { title: of, cell: ({ label }) => label },
          { title: unit, isNumber: true, cell: ({ value }) => formatNumber(value) },
          ...(total > 0 ? [{ title: 'Share', isNumber: true, cell: ({ value }: Bar) => formatShare(value / total) }] : []),
          {
            title: 'Bar',
            cell: ({ value }) => value > 0 && <div class="bar" aria-hidden="true" style={{ width: `${(value * 100) / highest}%` }} />,
          },
        ]}
      />
    </div>
  );
}
