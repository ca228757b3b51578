import { periodState, type PeriodState } from '../../../../../shared/progress.js';
import type { components } from '../../../api/schema/application.js';

type Streak = components['schemas']['Streak'];
export type Period = Streak['streakHistory'][number];

/** What happened to the streak in a period, in the order of the legend. `lost`: the first period without the streak of the one before it. */
const cellStates = ['extended', 'frozen', 'paused', 'kept', 'open', 'lost', 'missed'] as const;
export type CellState = PeriodState | 'lost';

export interface Cell {
  readonly start: string;
  readonly end: string;
  readonly length: number;
  readonly state: CellState;
}

/** Periods in a row with the same state. */
export interface Run {
  readonly state: CellState;
  readonly start: string;
  readonly end: string;
  readonly periods: number;
}

const calendarWeeks = 26;
/** A calendar of a monthly streak covers a year: six cells would say little. */
const calendarMonths = 12;

const dayMs = 86_400_000;
/** 1970-01-01 was a Thursday, the fourth day of a week that begins on Monday. */
const epochWeekday = 3;

/** Whole days since 1970-01-01. */
const dayNumber = (date: string): number => Math.floor(Date.parse(`${date}T00:00:00Z`) / dayMs);
const weekOf = (date: string): number => Math.floor((dayNumber(date) + epochWeekday) / 7);
/** From 0, Monday, to 6, Sunday. */
export const weekdayOf = (date: string): number => (dayNumber(date) + epochWeekday) % 7;

function stateOf(period: Period, before: Period | undefined, isCurrent: boolean): CellState {
  const state = periodState(period, before, isCurrent);
  return state === 'missed' && before && before.length > 0 ? 'lost' : state;
}

/** The states of periods, oldest first; the last one is the current period. */
export function cellsOf(history: readonly Period[]): Cell[] {
  return history.map((period, at) => ({
    start: period.periodStart,
    end: period.periodEnd,
    length: period.length,
    state: stateOf(period, history[at - 1], at === history.length - 1),
  }));
}

/** The cells that a calendar shows: 26 weeks, or 12 months of a monthly streak. */
export function recentCells(cells: readonly Cell[], frequency: Streak['frequency']): Cell[] {
  const newest = cells.at(-1);
  if (!newest) return [];
  if (frequency === 'weekly') return cells.slice(-calendarWeeks);
  if (frequency === 'monthly') return cells.slice(-calendarMonths);
  const first = weekOf(newest.start) - calendarWeeks + 1;
  return cells.filter(({ start }) => weekOf(start) >= first);
}

/** Daily cells as columns of a week each. A place is undefined where the calendar has no day. */
export function weekColumns(cells: readonly Cell[]): (Cell | undefined)[][] {
  const columns = new Map<number, (Cell | undefined)[]>();
  for (const cell of cells) {
    const week = weekOf(cell.start);
    const column = columns.get(week) ?? Array.from<Cell | undefined>({ length: 7 });
    column[weekdayOf(cell.start)] = cell;
    columns.set(week, column);
  }
  return [...columns.values()];
}

/** How many cells each state has, in the order of `cellStates`, without states that have none. */
export const countStates = (cells: readonly Cell[]): { state: CellState; periods: number }[] =>
  cellStates.map((state) => ({ state, periods: cells.filter((cell) => cell.state === state).length })).filter(({ periods }) => periods > 0);

/** Cells in a row with the same state, newest first. */
export function runsOf(cells: readonly Cell[]): Run[] {
  const runs: Run[] = [];
  for (const { state, start, end } of cells) {
    const last = runs.at(-1);
    if (last?.state === state) runs[runs.length - 1] = { ...last, end, periods: last.periods + 1 };
    else runs.push({ state, start, end, periods: 1 });
  }
  return runs.reverse();
}

/** The length of the longest streak within the history. */
export const longestOf = (history: readonly Period[]): number => history.reduce((longest, { length }) => Math.max(longest, length), 0);
