import 'uplot/dist/uPlot.min.css';
import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatDate, formatNumber, formatShort } from './format.js';
import { Table } from './table.js';
import { onColorChange } from './theme.js';

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** Names the chart for screen readers. */
  readonly title: string;
  /** Dates written YYYY-MM-DD. */
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly kind?: 'line' | 'bars';
  readonly heightPx?: number;
}

const colors = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5', '--series-6'];
const shownSeries = colors.length;

/** How near the pointer must be to a line. */
const focusPx = 16;

const dayS = 86_400;
const tickDates = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

const dateOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);
const formatTick = (seconds: number): string => tickDates.format(new Date(seconds * 1_000));

/** Reads a token as a color that a canvas accepts, which `light-dark()` is not. */
function colorsOf(element: HTMLElement): (name: string) => string {
  return (name) => {
    element.style.color = `var(${name})`;
    const { color } = getComputedStyle(element);
    element.style.color = '';
    return color;
  };
}

function optionsOf({ series, kind, heightPx = 200 }: ChartProps, element: HTMLElement): uPlot.Options {
  const color = colorsOf(element);
  const areWhole = series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined;
  return {
    width: element.clientWidth,
    height: heightPx,
    // The line under the pointer stands out among the others.
    focus: { alpha: 0.25 },
    cursor: { focus: { prox: series.length > 1 ? focusPx : -1 } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
    // Bars are as wide as a day, of which the first and the last one need a half more.
    scales: {
      x: { range: (_plot, low, high) => (kind === 'bars' ? [low - dayS / 2, high + dayS / 2] : [low, high]) },
      y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.05)] },
    },
    axes: [
      {
        ...axis,
        space: 64,
        size: 28,
        incrs: [1, 2, 7, 14, 28, 91].map((days) => days * dayS),
        values: (_plot, ticks) => ticks.map(formatTick),
      },
      { ...axis, size: 48, values: (_plot, ticks) => ticks.map((tick) => (areWhole && !Number.isInteger(tick) ? '' : formatShort(tick))) },
    ],
    series: [
      { label: 'Day', value: (_plot, seconds) => (Number.isFinite(seconds) ? formatDate(dateOf(seconds)) : '') },
      ...series.slice(0, shownSeries).map(({ label }, at): uPlot.Series => {
        const stroke = color(colors[at] ?? '');
        const value = (_plot: uPlot, shown: number | null): string => (shown === null ? '' : formatNumber(shown));
        return { label, stroke, value, width: 2, points: { show: false }, ...(bars ? { paths: bars, fill: stroke } : {}) };
      }),
    ],
  };
}

/** A chart over days, with its numbers as a table for those who can't see it. Draws again when its size or the color scheme changes. */
export function Chart(props: ChartProps) {
  const { title, days, series } = props;
  const holder = useRef<HTMLDivElement>(null);
  // Before the browser paints, so that nothing moves when the chart is there.
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    let plot: uPlot | undefined;
    const seconds = days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1_000);
    const data = [seconds, ...series.slice(0, shownSeries).map(({ values }) => [...values])] as uPlot.AlignedData;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(optionsOf(props, element), data, element);
    };
    draw();
    const resize = new ResizeObserver(() => {
      if (plot?.width === element.clientWidth) return;
      draw();
    });
    resize.observe(element);
    const endColors = onColorChange(draw);
    return () => {
      resize.disconnect();
      endColors();
      plot?.destroy();
    };
  }, [days, series, props.kind]);
  return (
    <figure class="chart">
      <div ref={holder} aria-hidden="true" />
      <details>
        <summary>Show as a table</summary>
        <ChartTable title={title} days={days} series={series} />
      </details>
    </figure>
  );
}

function ChartTable({ title, days, series }: Pick<ChartProps, 'title' | 'days' | 'series'>) {
  const columns = [
    { title: 'Day', cell: (at: number) => days[at] ?? '' },
    ...series.map(({ label, values }) => ({ title: label, isNumber: true, cell: (at: number) => formatNumber(values[at] ?? 0) })),
  ];
  return <Table caption={title} columns={columns} rows={days.map((_day, at) => at)} keyOf={String} />;
}
