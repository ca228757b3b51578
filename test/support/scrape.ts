/** One sample of /metrics. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metrics of a process. */
export interface Scrape {
  /** The names of the metrics, also of those without a value. */
  readonly names: ReadonlySet<string>;
  /** `counter`, `gauge` or `histogram`, by name. */
  readonly kinds: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
  /** The value of a sample with these labels, among others it may have; undefined when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const sampleLine = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;

function parse(text: string): Pick<Scrape, 'kinds' | 'samples'> {
  const kinds = new Map<string, string>();
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, declared, kind = ''] = /^# TYPE (\S+) (\w+)$/.exec(line) ?? [];
    if (declared !== undefined) kinds.set(declared, kind);
    if (line === '' || line.startsWith('#')) continue;
    const [, name = '', labels = '', value = ''] = sampleLine.exec(line) ?? [];
    if (name === '') throw new Error(`not a line of Prometheus' text format: ${line}`);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text] as const);
    samples.push({ name, labels: Object.fromEntries(pairs), value: Number(value.replace('Inf', 'Infinity')) });
  }
  return { kinds, samples };
}

/** Reads the metrics of a process. Throws unless the response is a 200. */
export async function scrape(metricsAddress: string, headers: Readonly<Record<string, string>> = {}): Promise<Scrape> {
  const response = await fetch(`${metricsAddress}/metrics`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}: ${text}`);
  const { kinds, samples } = parse(text);
  return {
    names: new Set(kinds.keys()),
    kinds,
    samples,
    value: (name, labels = {}) =>
      samples.find((sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value))?.value,
  };
}
