import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { GroupMetrics } from '../../src/app/processes/group-metrics.js';
import { containerOf, manifests } from '../support/manifests.js';
import { scrape, type Scrape } from '../support/scrape.js';
import { freshDatabase, startWorld } from '../support/world.js';

const folder = new URL('../../docs/operations/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const rules = (parse(read('alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const { panels, uid } = JSON.parse(read('grafana-dashboard.json')) as { panels: Panel[]; uid: string };
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** The metrics that an expression of PromQL names: ours and the process', without what stands in its texts. */
const metricsIn = (expression: string): string[] => expression.replace(/"[^"]*"/g, '""').match(/\b(?:laurel|process|nodejs)_\w+/g) ?? [];

/** A metric's samples also have names of their own. */
const declared = (metric: string, names: ReadonlySet<string>): boolean =>
  names.has(metric) || names.has(metric.replace(/_(?:bucket|sum|count)$/, ''));

/** The labels that an expression asks for of its metrics, or sums by, without those that Prometheus, histograms and the metrics of Node have. */
function labelsIn(expression: string): string[] {
  const selected = [...expression.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label);
  const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
  return [...selected, ...grouped].filter((label) => !['job', 'instance', 'le', 'process'].includes(label));
}

/** The rows of the table of metrics: names, kind and labels. */
const explainedMetrics = [...read('monitoring.md').matchAll(/^\| (`laurel_[^|]*) \| (\w+) *\| ([^|]*)\|/gm)].map(
  ([, names = '', kind = '', labels = '']) => ({ names: names.match(/laurel_\w+/g) ?? [], kind, labels: labels.match(/\w+/g) ?? [] }),
);

const pairs = ['()', '{}', '[]'].map((pair) => pair.split('', 2) as [string, string]);
const balanced = (expression: string): boolean =>
  pairs.every(([open, close]) => expression.split(open).length === expression.split(close).length);

/** The names of the metrics of a text for Prometheus. */
const declaredIn = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);

/** What the probes of the manifests for Kubernetes request. */
const probedPaths = manifests()
  .filter(({ kind }) => kind === 'Deployment')
  .map(containerOf)
  .flatMap(({ startupProbe, livenessProbe, readinessProbe }) =>
    [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => probe?.httpGet?.path ?? []),
  );

describe('The files for operators', () => {
  let names: ReadonlySet<string>;
  let answer: Scrape;
  /** The statuses of the paths that the manifests for Kubernetes probe. */
  const probed = new Map<string, number>();
  before(async () => {
    // Stores of Laurel's own would add the disk of their folder, which is a figure of no store.
    const world = await startWorld({ settings: { metricsPort: 0, messages: 'log' } });
    try {
      await world.event('flashcards-viewed', { user: { id: 'ana' }, value: 1 });
      answer = await scrape(world.metricsAddress);
      for (const path of probedPaths) probed.set(path, (await world.get(path)).status);
      const ofSupervisor = declaredIn(await new GroupMetrics(() => []).read());
      names = new Set([...answer.names, ...ofSupervisor, 'laurel_data_folder_free_bytes', 'laurel_data_folder_size_bytes']);
    } finally {
      await world.stop();
    }
  });

  it('have alerts with a name, a severity and a summary', () => {
    expect(rules.length).to.be.above(15);
    expect(new Set(rules.map(({ alert }) => alert)).size).to.equal(rules.length);
    for (const { alert, labels, annotations, for: after } of rules) {
      expect(alert).to.match(/^Laurel[A-Z]\w+$/);
      expect(['info', 'warning', 'critical'], alert).to.include(labels.severity);
      expect(annotations.summary, alert).to.match(/\.$/);
      expect(after ?? '1m', alert).to.match(/^\d+[sm]$/);
    }
  });

  it('have a runbook for each alert, and none for others', () => {
    const anchors = [...read('runbooks.md').matchAll(/^## (\w+)$/gm)].map(([, heading = '']) => heading);
    expect(anchors).to.have.members(rules.map(({ alert }) => alert));
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).to.equal(`docs/operations/runbooks.md#${alert.toLowerCase()}`);
    }
  });

  it('name existing alerts in the runbooks', () => {
    const named = [...read('runbooks.md').matchAll(/\bLaurel[A-Z]\w+/g)].map(([name]) => name);
    const alerts = rules.map(({ alert }) => alert);
    expect(named.filter((name) => !alerts.includes(name))).to.deep.equal([]);
  });

  it('have a dashboard whose panels each have a position and a query', () => {
    expect(uid).to.equal('laurel');
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
    for (const { title, type, targets, gridPos } of panels) {
      expect(gridPos.x + gridPos.w, title).to.be.at.most(24);
      if (type !== 'row') expect(targets, title).to.have.lengthOf.at.least(1);
    }
  });

  it('query existing metrics', () => {
    const asked = [...rules.map(({ alert, expr }) => ({ title: alert, expr })), ...queries];
    for (const { title, expr } of asked) {
      expect(metricsIn(expr), title).not.to.be.empty;
      expect(balanced(expr), `${title}: ${expr}`).to.equal(true);
      expect(
        metricsIn(expr).filter((metric) => !declared(metric, names)),
        title,
      ).to.deep.equal([]);
    }
  });

  it('query existing labels', () => {
    const labelsOf = new Map(explainedMetrics.flatMap((row) => row.names.map((name) => [name, row.labels] as const)));
    expect(labelsOf).to.have.lengthOf.at.least(35);
    const plain = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, '');
    for (const { title, expr } of [...rules.map(({ alert, expr }) => ({ title: alert, expr })), ...queries]) {
      const known = metricsIn(expr).flatMap((name) => labelsOf.get(name) ?? labelsOf.get(plain(name)) ?? []);
      expect(known, `${title}: ${expr}`).to.include.members(labelsIn(expr));
    }
    for (const { names: described, kind, labels } of explainedMetrics) {
      for (const name of described) {
        expect(answer.kinds.get(name) ?? kind, name).to.equal(kind);
        for (const sample of answer.samples.filter((one) => plain(one.name) === name || one.name === name)) {
          expect(
            Object.keys(sample.labels)
              .filter((label) => label !== 'le')
              .sort(),
            name,
          ).to.deep.equal([...labels].sort());
        }
      }
    }
  });

  it('probe what a service answers', () => {
    expect(Object.fromEntries(probed)).to.deep.equal({ '/health/live': 200, '/health/ready': 200 });
  });

  it('contain valid SQL', async () => {
    const asked = pages.flatMap((name) => [...read(name).matchAll(/`(select [^`]+)`|```sql\n([^`]+)```/g)]);
    expect(asked).to.have.lengthOf.at.least(4);
    const database = await freshDatabase();
    try {
      for (const [, inline, block] of asked) await database.pool.query(inline ?? block ?? '');
    } finally {
      await database.drop();
    }
  });

  it('document every metric of Laurel, and no other', () => {
    const page = read('monitoring.md');
    const explained = new Set(page.match(/\blaurel_\w+/g));
    const ours = [...names].filter((name) => name.startsWith('laurel_') && name !== 'laurel_data_folder_size_bytes');
    expect(ours.filter((name) => !explained.has(name))).to.deep.equal([]);
    expect([...explained].filter((name) => !declared(name, names))).to.deep.equal([]);
  });
});
