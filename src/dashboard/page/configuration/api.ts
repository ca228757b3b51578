import { ApiError } from '../api/errors.js';
import type { JsonObject, Path } from './json.js';

/** Who made a version. */
export interface Author {
  readonly kind: 'key' | 'command' | 'start';
  readonly name: string;
  readonly keyId: string | null;
  readonly prefix: string | null;
}

export interface Configuration {
  readonly version: number;
  readonly created: string | null;
  readonly author: Author | null;
  readonly file: JsonObject;
}

/** A change as the service names it. */
export interface Change {
  readonly action: 'add' | 'revive' | 'change' | 'archive';
  readonly kind: string;
  readonly key?: string | undefined;
  readonly within?: string | null | undefined;
  readonly fields: readonly { readonly field: string; readonly from?: unknown; readonly to?: unknown }[];
}

/** What a change does to users. */
export interface Effect {
  readonly kind: string;
  readonly key: string | null;
  readonly within: string | null;
  readonly users: number | null;
  readonly sentence: string;
}

export interface Problem {
  readonly message: string;
  readonly path: Path | null;
  readonly line: number | null;
  readonly column: number | null;
}

export interface Applied {
  readonly version: number;
  readonly changes: readonly Change[];
  readonly lines: readonly string[];
  readonly kept: readonly string[];
}

export interface DryRun extends Applied {
  readonly effects: readonly Effect[];
  readonly problems: readonly Problem[];
}

export interface VersionSummary {
  readonly version: number;
  readonly created: string | null;
  readonly author: Author | null;
  readonly lines: readonly string[];
  readonly changes: number;
}

export interface Version extends Configuration {
  readonly changes: readonly Change[];
  readonly lines: readonly string[];
}

/** What is applied, or would be: contents, or the text of a YAML file. */
export interface Candidate {
  readonly file: JsonObject | string;
  readonly prune: boolean;
  readonly version?: number;
}

/** The data of a response that has some. */
export function dataOf<T>({ data }: { readonly data?: T }): T {
  if (data === undefined) throw new ApiError(200, 'The service responded without a result.');
  return data;
}
