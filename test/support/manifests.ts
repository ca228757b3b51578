import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

export const manifestFolder = fileURLToPath(new URL('../../deploy/kubernetes', import.meta.url));

/** What the tests read of an object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: object;
}

/** The template of the pods of a Deployment or a Job. */
interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly terminationGracePeriodSeconds?: number; readonly containers: readonly [Container] };
}

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: object;
  readonly envFrom: readonly { readonly configMapRef?: { readonly name: string }; readonly secretRef?: { readonly name: string } }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly tcpSocket?: { readonly port: string };
}

/** The files of deploy/kubernetes with the objects that they hold; kustomizations, and the configuration of the example, are none. */
export const manifestFiles: readonly string[] = readdirSync(manifestFolder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml') && !/(?:^|\/)(?:kustomization|laurel)\.yaml$/.test(name))
  .sort();

/** The objects of a text. Throws for what is no YAML, or has a key twice. */
export function objectsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault) throw fault;
    return document.toJS() as Manifest;
  });
}

export const readManifest = (name: string): string => readFileSync(join(manifestFolder, name), 'utf8');

/** All objects of all files. */
export const manifests = (): Manifest[] => manifestFiles.flatMap((name) => objectsOf(readManifest(name)));

/** Of a Deployment or a Job. */
export const podsOf = ({ spec }: Manifest): PodTemplate => (spec as { template: PodTemplate }).template;
export const containerOf = (workload: Manifest): Container => podsOf(workload).spec.containers[0];
