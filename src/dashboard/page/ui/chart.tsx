import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatDate, formatNumber, formatShort } from './format.js';
import { Table } from './table.js';

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

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function optionsOf({ series, kind, heightPx = 200 }: ChartProps, width: number): uPlot.Options {
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined;
  return {
    width,
    height: heightPx,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.05)] } },
    axes: [axis, { ...axis, size: 48, values: (_plot, ticks) => ticks.map((tick) => formatShort(tick)) }],
    series: [
      { value: (_plot, seconds) => (Number.isFinite(seconds) ? formatDate(new Date(seconds * 1_000).toISOString().slice(0, 10)) : '') },
      ...series.slice(0, shownSeries).map(({ label }, at): uPlot.Series => {
        const stroke = color(colors[at] ?? '');
        return { label, stroke, width: 2, points: { show: false }, ...(bars ? { paths: bars, fill: stroke } : {}) };
      }),
    ],
  };
}

/** A chart over days, with its numbers as a table for those who can't see it. Draws again when its size or the color scheme changes. */
export function Chart(props: ChartProps) {
  const { title, days, series } = props;
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    let plot: uPlot | undefined;
    const seconds = days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1_000);
    const data = [seconds, ...series.slice(0, shownSeries).map(({ values }) => [...values])] as uPlot.AlignedData;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(optionsOf(props, element.clientWidth), data, element);
    };
    const resize = new ResizeObserver(() => {
      if (plot?.width === element.clientWidth) return;
      draw();
    });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    resize.observe(element);
    scheme.addEventListener('change', draw);
    return () => {
      resize.disconnect();
      scheme.removeEventListener('change', draw);
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
