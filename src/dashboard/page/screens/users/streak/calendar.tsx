import type { components } from '../../../api/schema/application.js';
import { formatCount, formatDate } from '../../../ui/format.js';
import { Table } from '../../../ui/table.js';
import {
  cellsOf,
  countStates,
  recentCells,
  runsOf,
  weekColumns,
  type Cell,
  type Period,
  type CellState,
  type Run,
} from './streak-calendar.js';

const words: Readonly<Record<CellState, string>> = {
  extended: 'extended',
  frozen: 'kept by a freeze',
  paused: 'kept by a pause',
  kept: 'kept by a day off or a move',
  open: 'not extended yet',
  lost: 'lost',
  missed: 'no streak',
};

/** Shown in a cell, so that its state does not depend on its color. */
const marks: Readonly<Record<CellState, string>> = { extended: '', frozen: 'F', paused: 'P', kept: '=', open: '·', lost: '×', missed: '' };

interface CalendarProps {
  readonly history: readonly Period[];
  readonly frequency: components['schemas']['Streak']['frequency'];
}

/** The streak of the last periods: a column for each week of a daily streak, otherwise a cell for each period. */
export function Calendar({ history, frequency }: CalendarProps) {
  const cells = recentCells(cellsOf(history), frequency);
  if (cells.length === 0) return null;
  const unit = { daily: 'day', weekly: 'week', monthly: 'month' }[frequency];
  const counts = countStates(cells);
  const sentence = `The last ${formatCount(cells.length, unit)}: ${counts.map(({ state, periods }) => `${periods} ${words[state]}`).join(', ')}.`;
  const columns = frequency === 'daily' ? weekColumns(cells) : cells.map((cell) => [cell]);
  return (
    <figure class="calendar">
      <div class="calendar-cells" role="img" aria-label={sentence}>
        {columns.map((column, at) => (
          <div key={at}>
            {column.map((cell, day) => (cell ? <Square key={cell.start} cell={cell} /> : <span key={day} class="cell absent" />))}
          </div>
        ))}
      </div>
      <ul class="legend">
        {counts.map(({ state, periods }) => (
          <li key={state}>
            <span class={`cell ${state}`} aria-hidden="true">
              {marks[state]}
            </span>
            {formatCount(periods, unit)} {words[state]}
          </li>
        ))}
      </ul>
      <details>
        <summary>Show as a table</summary>
        <Table<Run>
          caption="The streak by period"
          rows={runsOf(cells)}
          keyOf={({ start }) => start}
          columns={[
            { title: 'From', cell: ({ start }) => formatDate(start) },
            { title: 'To', cell: ({ end }) => formatDate(end) },
            { title: 'Streak', cell: ({ state }) => words[state] },
            { title: 'Periods', isNumber: true, cell: ({ periods }) => periods },
          ]}
        />
      </details>
    </figure>
  );
}

function Square({ cell: { state, start, end, length } }: { readonly cell: Cell }) {
  const dates = start === end ? formatDate(start) : `${formatDate(start)} to ${formatDate(end)}`;
  return (
    <span class={`cell ${state}`} title={`${dates}: ${words[state]}${length > 0 ? `, length ${length}` : ''}`}>
      {marks[state]}
    </span>
  );
}
