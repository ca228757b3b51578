import { limits } from '../shared/limits.js';
import { warningOf } from './admin/requests.js';
import type { RouteResponse } from './route.js';

/** The header that names the fields of a request that were ignored. */
export const ignoredFieldsHeader = 'Laurel-Ignored-Fields';

/** A field by its path in the body, such as `0.levels.1.color`. */
export type Path = readonly string[];

/**
 * The fields of a body that its schema has dropped, which it does with those that it doesn't know. `at` is the path of the two values in the body.
 */
export function ignoredFields(sent: unknown, kept: unknown, at: Path = []): Path[] {
  const ignored: Path[] = [];
  collect(sent, kept, at, ignored);
  return ignored;
}

function collect(sent: unknown, kept: unknown, at: Path, ignored: Path[]): void {
  if (sent === kept || typeof sent !== 'object' || typeof kept !== 'object' || sent === null || kept === null) return;
  for (const [name, value] of Object.entries(sent)) {
    if (!Object.hasOwn(kept, name)) ignored.push([...at, name]);
    else if (typeof value === 'object') collect(value, (kept as Readonly<Record<string, unknown>>)[name], [...at, name], ignored);
  }
}

const isIndex = (part: string): boolean => /^\d+$/.test(part);

/** The value of the header: at most limits.maxComplaints names, percent-encoded where a header requires it. */
export function headerOf(ignored: readonly Path[]): string {
  const names = ignored.slice(0, limits.maxComplaints).map((path) => encodeURIComponent(path.join('.')).slice(0, limits.maxKeyChars));
  const more = ignored.length - names.length;
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

/** The names for the audit log, without indexes. A name of other characters could be data. */
export function auditedNames(ignored: readonly Path[]): string[] {
  const names = ignored.slice(0, limits.maxComplaints).map((path) => (isIndex(path[0] ?? '') ? path.slice(1) : path).join('.'));
  return [...new Set(names.map((name) => (/^[\w.-]{1,100}$/.test(name) ? name : '…')))];
}

/** A response with a warning for each field, if the response has issues. */
export function withWarnings(response: RouteResponse, ignored: readonly Path[]): RouteResponse {
  const { body } = response;
  if (ignored.length === 0 || typeof body !== 'object' || body === null || !('issues' in body) || !Array.isArray(body.issues))
    return response;
  const warnings = ignored.slice(0, limits.maxComplaints).map((path) => {
    const at = path.findIndex(isIndex);
    const name = path.slice(at + 1).join('.');
    return warningOf(at < 0 ? 0 : Number(path[at]), `The unknown field \`${name.slice(0, limits.maxKeyChars)}\` was ignored.`);
  });
  return { ...response, body: { ...body, issues: [...(body.issues as unknown[]), ...warnings] } };
}
