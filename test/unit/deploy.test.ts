import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import which from 'which';
import { parse } from 'yaml';
import { parseSettings, settingsSchema } from '../../src/app/settings.js';
import { planApply } from '../../src/config/change/apply.js';
import { readConfigFile } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { limits } from '../../src/shared/limits.js';
import { version } from '../../src/shared/version.js';
import {
  containerOf,
  manifestFiles,
  manifestFolder,
  manifests,
  objectsOf,
  podsOf,
  readManifest,
  type Manifest,
} from '../support/manifests.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

type Labels = Readonly<Record<string, string>>;

interface Kustomization {
  readonly resources?: readonly string[];
  readonly images?: readonly { readonly name: string; readonly newTag?: string }[];
  readonly configMapGenerator?: readonly {
    readonly name: string;
    readonly literals?: readonly string[];
    readonly files?: readonly string[];
  }[];
}

const kustomization = (folder: string): Kustomization => parse(readManifest(join(folder, 'kustomization.yaml'))) as Kustomization;

/** The settings that the map laurel-settings has in a folder. */
const settingsIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    (kustomization(folder).configMapGenerator ?? [])
      .flatMap(({ literals = [] }) => literals)
      .map((literal) => /^(\w+)=(.*)$/.exec(literal)!.slice(1, 3) as [string, string]),
  );

const objects = manifests();
const ofKind = (...kinds: string[]): Manifest[] => objects.filter(({ kind }) => kinds.includes(kind));
const named = (kind: string, name: string): Manifest => ofKind(kind).find(({ metadata }) => metadata.name === name)!;
const workloads = ofKind('Deployment', 'Job');

/** The Secret `laurel`, as docs/operations/kubernetes.md makes it. */
const secret = Object.fromEntries(
  [...read('docs/operations/kubernetes.md').matchAll(/--from-literal=(\w+)="?([^"\s]+)"?/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
);

/** Labels that a pod of a workload has: its own, and the one that the base adds. */
const labelsOf = (workload: Manifest): Labels => ({ 'app.kubernetes.io/name': 'laurel', ...podsOf(workload).metadata.labels });

describe('The manifests for Kubernetes', () => {
  it('are all in a kustomization', () => {
    expect(manifestFiles).to.include.members(['base/api.yaml', 'base/jobs.yaml', 'monitoring/prometheus-rule.yaml']);
    const listed = ['base', 'monitoring', 'example'].flatMap((folder) =>
      (kustomization(folder).resources ?? []).map((name) => join(folder, name)),
    );
    expect(manifestFiles.filter((name) => !listed.includes(name))).to.deep.equal([]);
    expect(listed.filter((name) => !existsSync(join(manifestFolder, name)))).to.deep.equal([]);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).to.equal(names.length);
  });

  it('have the image and the version of package.json', () => {
    const { name } = JSON.parse(read('package.json')) as { name: string };
    expect(kustomization('base').images).to.deep.equal([{ name, newTag: version }]);
    expect(kustomization('example').images!.map((image) => image.name)).to.deep.equal([name]);
    expect(workloads.map((workload) => containerOf(workload).image)).to.deep.equal(workloads.map(() => name));
  });

  it('have settings that Laurel has, with values that it accepts', () => {
    const base = settingsIn('base');
    expect(base).to.include({ PORT: '7070', METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' });
    expect(secret).to.have.all.keys('REDIS_URL', 'DATABASE_URL', 'ADMIN_API_KEY', 'METRICS_TOKEN');
    const hidden = { ...secret, ADMIN_API_KEY: `admin.${'0'.repeat(16)}`, METRICS_TOKEN: '0'.repeat(16) };
    for (const settings of [base, { ...base, ...settingsIn('example') }]) {
      expect(Object.keys({ ...settings, ...hidden }).filter((variable) => !(variable in settingsSchema.shape))).to.deep.equal([]);
      parseSettings({ ...settings, ...hidden });
    }
  });

  it('probe ports that are served', () => {
    const { port, metricsPort } = parseSettings({ ...settingsIn('base'), METRICS_TOKEN: '0'.repeat(16) });
    const ports: Readonly<Record<string, number | null>> = { http: port, metrics: metricsPort };
    for (const workload of ofKind('Deployment')) {
      const { ports: open = [], startupProbe, livenessProbe, readinessProbe } = containerOf(workload);
      for (const { name, containerPort } of open) expect(containerPort, name).to.equal(ports[name]);
      const probes = [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => probe?.httpGet?.port ?? probe?.tcpSocket?.port ?? []);
      expect(probes, workload.metadata.name).to.have.lengthOf.at.least(2);
      expect(open.map(({ name }) => name)).to.include.members(probes);
    }
  });

  it('never restart a process for what readiness shows', () => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(named('Deployment', 'laurel-api'));
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path)).to.deep.equal([
      ...['/health/live', '/health/live'],
      '/health/ready',
    ]);
  });

  it('give processes the time that they take to stop', () => {
    const { shutdownDelayS } = parseSettings({ ...settingsIn('base'), METRICS_TOKEN: '0'.repeat(16) });
    const stopS = (limits.stopRequestsMs + limits.stopDrainMs) / 1_000;
    for (const workload of ofKind('Deployment')) {
      expect(podsOf(workload).spec.terminationGracePeriodSeconds, workload.metadata.name).to.be.at.least(shutdownDelayS + stopS);
    }
  });

  it('run commands of Laurel, without privileges, on a read-only file system', () => {
    expect(workloads.map(({ metadata }) => metadata.name)).to.have.members([
      'laurel-api',
      'laurel-worker',
      'laurel-migrate',
      'laurel-configure',
    ]);
    for (const workload of workloads) {
      const { name } = workload.metadata;
      const { command, securityContext, envFrom } = containerOf(workload);
      const [program, ...rest] = command;
      expect(program, name).to.equal('node');
      expect(
        existsSync(
          join(
            root,
            rest.find((part) => !part.startsWith('--'))!,
          ),
        ),
        name,
      ).to.equal(true);
      expect(securityContext, name).to.deep.equal({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(envFrom, name).to.deep.equal([{ configMapRef: { name: 'laurel-settings' } }, { secretRef: { name: 'laurel' } }]);
      expect(podsOf(workload).spec, name).to.deep.include({
        serviceAccountName: 'laurel',
        automountServiceAccountToken: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          runAsGroup: 1000,
          fsGroup: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
    }
  });

  it('select pods that there are', () => {
    const pods = workloads.map(labelsOf);
    const selects = (selector: Labels): boolean =>
      pods.some((labels) => Object.entries(selector).every(([key, value]) => labels[key] === value));
    for (const { metadata, spec } of ofKind('Service')) {
      expect(selects((spec as { selector: Labels }).selector), metadata.name).to.equal(true);
    }
    for (const { metadata, spec } of ofKind('Deployment', 'PodDisruptionBudget')) {
      expect(selects((spec as { selector: { matchLabels: Labels } }).selector.matchLabels), metadata.name).to.equal(true);
    }
    // The base leaves a policy without labels as it is: it would select all pods of the namespace.
    for (const { metadata, spec } of ofKind('NetworkPolicy')) {
      expect(selects((spec as { podSelector: { matchLabels: Labels } }).podSelector.matchLabels), metadata.name).to.equal(true);
    }
    const { scaleTargetRef } = named('HorizontalPodAutoscaler', 'laurel-api').spec as { scaleTargetRef: { kind: string; name: string } };
    expect(named(scaleTargetRef.kind, scaleTargetRef.name).spec).not.to.have.property('replicas');
  });

  it('have the alerts of docs/operations/alerts.yaml', () => {
    const name = 'monitoring/prometheus-rule.yaml';
    const [header = ''] = readManifest(name).split(/^ {2}groups:$/m, 1);
    const [, groups = ''] = read('docs/operations/alerts.yaml').split(/^(?=groups:$)/m);
    const made = header + groups.replace(/^(?=.)/gm, '  ');
    if (process.env['WRITE_ALERTS'] === '1') writeFileSync(join(manifestFolder, name), made);
    expect(readManifest(name)).to.equal(made);
    expect(objectsOf(made)[0]!.spec).to.deep.equal(parse(read('docs/operations/alerts.yaml')));
  });

  it('have an example whose configuration Laurel accepts', () => {
    const options = { now: '2026-11-28T12:00:00.000Z', prune: false, newId: randomUUID };
    const [file] = kustomization('example').configMapGenerator!.find(({ name }) => name === 'laurel-configuration')!.files!;
    const { changes } = planApply(emptyConfig, readConfigFile(readManifest(join('example', file!)), file!), options);
    expect(changes).to.have.lengthOf(3);
  });

  const kubectl = which.sync('kubectl', { nothrow: true });
  if (kubectl !== null) {
    it('make an installation of the example, with kubectl', () => {
      const { status, stdout, stderr } = spawnSync(kubectl, ['kustomize', join(manifestFolder, 'example')], { encoding: 'utf8' });
      expect([status, stderr]).to.deep.equal([0, '']);
      const made = objectsOf(stdout);
      expect(made.filter(({ kind }) => kind !== 'ConfigMap').map(({ kind, metadata }) => `${kind} ${metadata.name}`)).to.have.members(
        objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      );
      const maps = made.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name);
      for (const workload of made.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))) {
        const { image, envFrom } = containerOf(workload);
        expect(image).to.equal(`registry.example.com/laurel:${version}`);
        expect(maps).to.include(envFrom[0]?.configMapRef?.name);
      }
    });
  }
});
