import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import ts from 'typescript';
import { manifests, type Manifest } from '../support/manifests.js';

/** Beside the tests, where the compiler finds their packages. Neither file exists. */
const folder = fileURLToPath(new URL('.', import.meta.url));
const checked = join(folder, 'deploy-objects.ts');
const operator = join(folder, 'deploy-operator.ts');

/** The part that the manifests use of the resources of the Prometheus Operator, of which `kubernetes-types` has none. */
const operatorTypes = `
import type { LabelSelector, ObjectMeta } from 'kubernetes-types/meta/v1';
interface Resource<Kind, Spec> { apiVersion: 'monitoring.coreos.com/v1'; kind: Kind; metadata: ObjectMeta; spec: Spec }
interface Endpoint { port?: string; path?: string; interval?: string; authorization?: { credentials: { name: string; key: string } } }
export type ServiceMonitor = Resource<'ServiceMonitor', { jobLabel?: string; selector: LabelSelector; endpoints: Endpoint[] }>;
interface Rule { alert: string; expr: string; for?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
export type PrometheusRule = Resource<'PrometheusRule', { groups: { name: string; rules: Rule[] }[] }>;
`;

/** The module with the type of an object: `apps/v1` is one of kubernetes-types, `v1` is `core/v1` there, and `policy.k8s.io/v1` `policy/v1`. */
function moduleOf({ apiVersion }: Manifest): string {
  const [version = '', group = 'core'] = apiVersion.split('/').reverse();
  return group === 'monitoring.coreos.com' ? './deploy-operator' : `kubernetes-types/${group.split('.', 1)[0]}/${version}`;
}

/**
 * What is wrong with objects by the types of Kubernetes: fields that it does not know, fields that it requires, and values of other types. The compiler
 * checks a literal for unknown fields, which the JSON schemas of Kubernetes allow.
 */
function faultsOf(objects: readonly Manifest[]): string[] {
  // A line each, by which a fault is reported.
  const lines = objects.map((object, at) => {
    const type = `import type { ${object.kind} as T${at} } from '${moduleOf(object)}';`;
    return `${type} export const o${at}: T${at} = ${JSON.stringify(object)};`;
  });
  const texts = new Map([
    [checked, lines.join('\n')],
    [operator, operatorTypes],
  ]);
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es5.d.ts'],
    types: [],
  };
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => texts.has(name) || disk.fileExists(name),
    readFile: (name) => texts.get(name) ?? disk.readFile(name),
    getSourceFile: (name, languageVersion, ...rest) => {
      const text = texts.get(name);
      return text === undefined ? disk.getSourceFile(name, languageVersion, ...rest) : ts.createSourceFile(name, text, languageVersion);
    },
  };
  return ts.getPreEmitDiagnostics(ts.createProgram([checked], options, host)).map(({ file, start = 0, messageText }) => {
    const object = file?.fileName === checked ? objects[file.getLineAndCharacterOfPosition(start).line] : undefined;
    const where = object ? `${object.kind} ${object.metadata.name}` : (file?.fileName ?? 'the options');
    return `${where}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

describe('The manifests for Kubernetes, by its types', () => {
  it('have only fields that it knows, all that it requires, and values of the right type', () => {
    expect(faultsOf(manifests())).to.deep.equal([]);
  });

  it('would show a field that is misspelt, one that is missing, and a value of the wrong type', () => {
    const made = (spec: object): Manifest => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec });
    const template = { spec: { containers: [{ name: 'a', readinesProbe: {} }] } };
    const faults = faultsOf([
      made({ selector: {}, template }),
      made({ template: {} }),
      made({ selector: {}, template: {}, replicas: '2' }),
    ]);
    expect(faults).to.have.lengthOf(3);
    for (const [at, word] of ['readinesProbe', 'selector', 'number'].entries()) expect(faults[at]).to.include(word);
  });
});
