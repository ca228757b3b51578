import { total, type CommandStats } from './command-stats.js';
import { median, percentile, range } from './stats.js';

/** One round: statistics of the function's side, and of its commands made without it. */
export interface Round {
  readonly events: number;
  readonly inFunction: CommandStats;
  readonly alone: CommandStats;
  /** Commands that the function made. */
  readonly calls: number;
}

const measures = {
  /** µs an event in the function. */
  whole: ({ inFunction, events }: Round): number => (inFunction.get('fcall')?.us ?? NaN) / events,
  /** µs an event in the commands that the function makes, as Redis counted them there. */
  nested: ({ inFunction, events }: Round): number => total(inFunction, ['fcall']).us / events,
  /** µs an event in the same commands, made without the function. */
  alone: ({ alone, events }: Round): number => total(alone).us / events,
} as const;

const ratios = {
  toAlone: (round: Round): number => measures.whole(round) / measures.alone(round),
  toNested: (round: Round): number => measures.whole(round) / measures.nested(round),
} as const;

const cells = (values: readonly string[], widths: readonly number[]): string =>
  values.map((text, i) => text.padStart(widths[i] ?? 0)).join(' ');
/** What the commands are, and of each figure the calmest tenth, the median and the range of the rounds. */
export function functionReport(rounds: readonly Round[]): string {
  const summary = (title: string, of: (round: Round) => number): string => {
    const values = rounds.map(of);
    const [min, max] = range(values);
    return [
      title.padEnd(48),
      calm(values).toFixed(2).padStart(8),
      median(values).toFixed(2).padStart(8),
      `  ${min.toFixed(2)} to ${max.toFixed(2)}`,
    ].join('');
  };
  const calmRatio = (of: (round: Round) => number): string => (calm(rounds.map(measures.whole)) / calm(rounds.map(of))).toFixed(2);
  return [
    '',
    ...commandTable(rounds),
    '',
    `${''.padEnd(48)}${'calm'.padStart(8)}${'median'.padStart(8)}  range`,
    summary('the function, µs an event', measures.whole),
    summary('its commands, counted inside it, µs an event', measures.nested),
    summary('its commands, made without it, µs an event', measures.alone),
    summary('redis.calls an event', ({ calls, events }) => calls / events),
    summary('function / its commands, counted inside it', ratios.toNested),
    summary('function / its commands, made without it', ratios.toAlone),
    '',
    'From the calm figures of both sides:',
    `function / its commands, counted inside it: ${calmRatio(measures.nested)}`,
    `function / its commands, made without it:   ${calmRatio(measures.alone)}`,
  ].join('\n');
}

/** The figure of the calmest tenth of the rounds: what the machine does when nothing else takes its cores. */
function calm(values: readonly number[]): number {
  return percentile(Float64Array.from(values).sort(), 0.1);
}

function commandTable(rounds: readonly Round[]): string[] {
  const widths = [12, 12, 12, 12] as const;
  const names = [...new Set(rounds.flatMap(({ alone }) => [...alone.keys()]))];
  const rows = names.map((name) => {
    const perEvent = (of: (round: Round) => number | undefined): number => calm(rounds.map((round) => (of(round) ?? 0) / round.events));
    return {
      name,
      calls: perEvent(({ alone }) => alone.get(name)?.calls),
      inside: perEvent(({ inFunction }) => inFunction.get(name)?.us),
      alone: perEvent(({ alone }) => alone.get(name)?.us),
    };
  });
  rows.sort((a, b) => b.alone - a.alone);
  return [
    cells(['command', 'calls/event', 'inside µs', 'alone µs'], widths),
    ...rows.map(({ name, calls, inside, alone }) => cells([name, ...[calls, inside, alone].map((value) => value.toFixed(2))], widths)),
  ];
}
