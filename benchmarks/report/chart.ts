import type { Spread } from '../measure/summary.js';

/** A part of a bar. */
interface Segment {
  /** The class of its colour (style.ts). */
  readonly colour: string;
  readonly value: number;
  readonly title: string;
}

/** A bar of a chart. The range is drawn over a bar of one segment. */
export interface Bar {
  readonly label: string;
  readonly segments: readonly Segment[];
  readonly range?: Pick<Spread, 'min' | 'max'>;
  readonly value: string;
  /** Whether it belongs to the earlier run: thinner, right below the bar of this run. */
  readonly isEarlier?: boolean;
  /** Whether a new group begins with it. */
  readonly isFirst?: boolean;
}

export interface Chart {
  readonly title: string;
  /** What the axis counts, with its unit. */
  readonly axis: string;
  readonly bars: readonly Bar[];
}

const width = 960;
const labels = 310;
const values = 150;
const plot = width - labels - values;
const heights = { bar: 16, earlier: 9, gap: 5, group: 14, top: 6, axis: 44 } as const;
const ticks = 5;

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below a value. */
function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5].find((factor) => factor * power >= value) ?? 10) * power;
}

const tickText = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 3 });

/** Horizontal bars from 0 on a common axis, as an SVG element. Its colours are those of the page that it is in. */
export function barChart({ title, axis, bars }: Chart): string {
  const most = Math.max(...bars.map(({ segments, range }) => Math.max(sum(segments), range?.max ?? 0)));
  const step = niceStep(Math.max(most, Number.MIN_VALUE) / ticks);
  const end = step * Math.ceil(most / step);
  const x = (value: number): number => labels + (value / end) * plot;
  const rows: string[] = [];
  let y: number = heights.top;
  for (const [no, bar] of bars.entries()) {
    if (bar.isFirst && no > 0) y += heights.group;
    const height = bar.isEarlier ? heights.earlier : heights.bar;
    rows.push(barOf(bar, { y, height, x }));
    y += height + heights.gap;
  }
  const grid = Array.from({ length: Math.round(end / step) + 1 }, (_, i) => tickAt(x(i * step), y, tickText(i * step)));
  const axisTitle = `<text class="axis" x="${labels + plot / 2}" y="${y + 34}" text-anchor="middle">${escapeHtml(axis)}</text>`;
  return (
    `<svg viewBox="0 0 ${width} ${y + heights.axis}" role="img" aria-label="${escapeHtml(title)}">` +
    `${grid.join('')}${rows.join('')}${axisTitle}</svg>`
  );
}

const sum = (segments: readonly Segment[]): number => segments.reduce((all, { value }) => all + value, 0);

function tickAt(x: number, y: number, text: string): string {
  return `<line class="grid" x1="${x}" x2="${x}" y1="0" y2="${y}"/><text class="axis" x="${x}" y="${y + 15}" text-anchor="middle">${text}</text>`;
}

interface Place {
  readonly y: number;
  readonly height: number;
  readonly x: (value: number) => number;
}

function barOf({ label, segments, range, value, isEarlier = false }: Bar, { y, height, x }: Place): string {
  const middle = y + height / 2;
  let from = 0;
  const parts = segments.map(({ colour, value: length, title }) => {
    const left = x(from);
    from += length;
    const rect = `x="${left.toFixed(1)}" y="${y}" width="${Math.max(0, x(from) - left).toFixed(1)}" height="${height}"`;
    return `<rect class="${colour}" ${rect}><title>${escapeHtml(title)}</title></rect>`;
  });
  const whisker =
    range && range.max > range.min
      ? `<path class="range" d="M${x(range.min).toFixed(1)} ${middle}H${x(range.max).toFixed(1)}M${x(range.min).toFixed(1)} ${middle - 3}v6M${x(range.max).toFixed(1)} ${middle - 3}v6"/>`
      : '';
  const texts =
    `<text x="${labels - 10}" y="${middle}" class="label" text-anchor="end">${escapeHtml(label)}</text>` +
    `<text x="${x(Math.max(from, range?.max ?? 0)) + 8}" y="${middle}" class="label">${escapeHtml(value)}</text>`;
  return `<g class="${isEarlier ? 'earlier' : 'now'}">${parts.join('')}${whisker}${texts}</g>`;
}
