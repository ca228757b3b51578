import type { CaseSummary, Spread } from '../measure/summary.js';
import type { Figure } from '../runner/bench.js';
import type { KindResult, RunFile, TargetResult } from '../runner/run-file.js';
import { limitText } from '../runner/tables.js';
import { barChart, escapeHtml, type Bar } from './chart.js';
import { style } from './style.js';

type Run = Pick<RunFile, 'startedAt' | 'commit' | 'against' | 'machine' | 'kinds'>;

const number = (value: number, decimals: number): string =>
  value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
const cell = (text: string, style = ''): string => `<td${style === '' ? '' : ` class="${style}"`}>${escapeHtml(text)}</td>`;
const row = (cells: readonly string[]): string => `<tr>${cells.join('')}</tr>`;
const header = (titles: readonly string[]): string => row(titles.map((title) => `<th>${escapeHtml(title)}</th>`));
const dayAndTime = ({ startedAt }: Run): string => startedAt.replace('T', ' ').replace(/:\d\d(\.\d+)?Z$/, ' UTC');

/**
 * The report of a run as one HTML page without external resources: the targets, and charts and figures of each kind, beside those of an earlier
 * run if there is one.
 */
export function reportPage(run: Run, earlier?: Run): string {
  const before = (name: string): KindResult | undefined => earlier?.kinds.find((kind) => kind.name === name);
  const links = run.kinds.map(({ name }) => `<a href="#${name}">${name}</a>`).join('');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Laurel benchmarks, ${escapeHtml(run.commit)}</title>
<style>${style}</style>
<h1>Laurel benchmarks</h1>
${machines(run, earlier)}
<nav><p>${links}</p></nav>
${targets(run, before)}
${run.kinds.map((kind) => section(kind, before(kind.name))).join('\n')}
</html>
`;
}

/** Where and when both runs were measured. */
function machines(run: Run, earlier: Run | undefined): string {
  const rows: readonly (readonly [title: string, of: (run: Run) => string])[] = [
    ['', (of) => (of === run ? 'This run' : 'Earlier run')],
    ['Commit', ({ commit, against }) => (against === null ? commit : `${commit}, in turn with ${against} (theirs)`)],
    ['Measured', dayAndTime],
    ['Machine', ({ machine: { cores, memoryBytes, cpu } }) => `${cores} cores, ${number(memoryBytes / 2 ** 30, 0)} GiB, ${cpu}`],
    ['Versions', ({ machine }) => `Node ${machine.node.slice(1)}, Redis ${machine.redis}, Postgres ${machine.postgres}`],
  ];
  const runs = earlier ? [run, earlier] : [run];
  const cells = rows.map(
    ([title, of]) => `<dt>${title}</dt>${[...runs.map((one) => `<dd>${escapeHtml(of(one))}</dd>`), earlier ? '' : '<dd></dd>'].join('')}`,
  );
  return `<dl>${cells.join('')}</dl>`;
}

function targets(run: Run, before: (name: string) => KindResult | undefined): string {
  const rows = run.kinds.flatMap((kind) =>
    kind.targets.map((target) => {
      const earlier = before(kind.name)?.targets.find(({ title }) => title === target.title);
      return row([
        cell(target.title),
        cell(limitText(target)),
        measured(target),
        cell(earlier ? number(earlier.value, 2) : ''),
        verdict(target),
      ]);
    }),
  );
  if (rows.length === 0) return '';
  return `<h2>Targets</h2><div class="wide"><table>${header(['', 'target', 'this run', 'earlier run', ''])}${rows.join('')}</table></div>`;
}

const measured = ({ value, unit }: TargetResult): string => cell(`${number(value, 2)}${unit === '' ? '' : ` ${unit}`}`);

function verdict(target: TargetResult): string {
  if (limitText(target) === '') return cell('');
  return target.isMet ? cell('met', 'met') : cell('missed', 'missed');
}

/** Figures that are drawn as parts of one bar. */
interface Group {
  readonly title: string;
  readonly figures: readonly Figure[];
}

function groupsOf(figures: readonly Figure[]): Group[] {
  const titles = [...new Set(figures.map(({ part, title }) => part?.of ?? title))];
  return titles.map((title) => ({ title, figures: figures.filter((figure) => (figure.part?.of ?? figure.title) === title) }));
}

function section(kind: KindResult, before: KindResult | undefined): string {
  const charts = groupsOf(kind.figures).flatMap((group) => chartOf(group, kind.cases, before?.cases ?? []));
  const rounds = Math.max(...kind.cases.map((one) => one.rounds));
  const given = Object.entries(kind.options).map(([name, value]) => `<code>--${name} ${escapeHtml(String(value))}</code>`);
  return `<h2 id="${kind.name}">${kind.name}</h2>
<p>${escapeHtml(kind.summary)}. ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ${number(kind.seconds, 0)} s, ${given.join(' ')}</p>
${legend(kind, before !== undefined)}${charts.join('\n')}
<details><summary>Figures</summary><div class="wide"><table>${figureRows(kind, before).join('')}</table></div></details>`;
}

const sideNames: Readonly<Record<string, string>> = {
  ...{ ours: 'this checkout', theirs: 'the other checkout', floor: 'the floor' },
  'plain-postgres': 'plain SQL',
};

function legend({ cases, figures }: KindResult, hasEarlier: boolean): string {
  const sides = [...new Set(cases.flatMap((one) => Object.keys(one.sides)))];
  const parts = figures.filter(({ part, key }) => part && cases.some((one) => one.sides.ours?.[key]));
  const item = (colour: string, text: string): string => `<span><i class="${colour}"></i>${escapeHtml(text)}</span>`;
  const spans = [...sides.map((side) => item(side, sideNames[side] ?? side)), '<span>Bars: medians. Lines: ranges of the rounds.</span>'];
  if (hasEarlier) spans.push('<span>Thin and pale: the earlier run.</span>');
  const partSpans = parts.map(({ part, title }) => item(part?.colour ?? '', title));
  return `<div class="legend">${spans.join('')}</div>${partSpans.length > 0 ? `<div class="legend">${partSpans.join('')}</div>` : ''}`;
}

/** The bars of a group of figures: this run's and the earlier one's, case by case and side by side. */
function chartOf(group: Group, cases: readonly CaseSummary[], earlier: readonly CaseSummary[]): string[] {
  const bars = cases.flatMap((one) =>
    Object.entries(one.sides).flatMap(([side, spreads], no) => {
      const label = side === 'ours' ? one.case : `${one.case}: ${sideNames[side] ?? side}`;
      const bar = barOf(group, side, spreads);
      if (!bar) return [];
      const old = barOf(group, side, earlier.find((other) => other.case === one.case)?.sides[side] ?? {});
      return [{ label, isFirst: no === 0, ...bar }, ...(old ? [{ label: '', isEarlier: true, ...old }] : [])];
    }),
  );
  const unit = group.figures[0]?.unit ?? '';
  if (bars.length === 0) return [];
  const axis = unit === '' ? group.title : `${group.title}, ${unit}`;
  return [`<h3>${escapeHtml(axis)}</h3>${barChart({ title: group.title, axis, bars })}`];
}

function barOf({ figures }: Group, side: string, spreads: Readonly<Record<string, Spread>>): Omit<Bar, 'label'> | undefined {
  const present = figures.flatMap((figure) => {
    const spread = spreads[figure.key];
    return spread ? [{ figure, spread }] : [];
  });
  const [first] = present;
  if (!first) return undefined;
  const { decimals } = first.figure;
  const total = present.reduce((sum, { spread }) => sum + spread.median, 0);
  return {
    segments: present.map(({ figure, spread }) => ({
      colour: figure.part?.colour ?? side,
      value: spread.median,
      title: `${figure.title}: ${number(spread.median, decimals)} ${figure.unit}`,
    })),
    ...(first.figure.part ? {} : { range: first.spread }),
    value: number(total, decimals),
  };
}

/** Every figure with its range, and the ratios. */
function figureRows({ cases, figures }: KindResult, before: KindResult | undefined): string[] {
  const rows = cases.flatMap((one) =>
    Object.entries(one.sides).flatMap(([side, spreads]) =>
      figures.flatMap(({ key, title, unit, decimals }) => {
        const spread = spreads[key];
        if (!spread) return [];
        const old = before?.cases.find((other) => other.case === one.case)?.sides[side]?.[key];
        const ratio = one.ratios[side]?.[key];
        return [
          row([
            ...[one.case, sideNames[side] ?? side, `${title}${unit === '' ? '' : `, ${unit}`}`].map((text) => cell(text)),
            ...[spread.median, spread.min, spread.max].map((value) => cell(number(value, decimals))),
            cell(ratio ? number(ratio.ofPairs, 3) : ''),
            cell(old ? number(old.median, decimals) : ''),
          ]),
        ];
      }),
    ),
  );
  return [header(['case', 'side', 'figure', 'median', 'least', 'most', 'ours ÷ it, of pairs', 'earlier run']), ...rows];
}
