import type { Change } from '../file/api.js';
import { editorPath } from '../file/problems.js';

/** The parts of the file by what the service calls their objects. */
const partOfKind: Readonly<Record<string, string>> = {
  'user attribute': 'attributes',
  'event attribute': 'attributes',
  metric: 'metrics',
  'points system': 'points',
  achievement: 'achievements',
  leaderboard: 'leaderboards',
  webhook: 'webhooks',
  template: 'templates',
};

const innerListOfKind: Readonly<Record<string, string>> = { trigger: 'triggers', boost: 'boosts' };

/** What a change or an effect is about. The key of a part that is one object is absent. */
interface Subject {
  readonly kind: string;
  readonly key?: string | null;
  readonly within?: string | null;
}

/** The path of the editor of what a change is about. */
export function editorOfChange({ kind, key, within }: Subject): string | undefined {
  if (typeof key !== 'string') return `/configuration/${encodeURIComponent(kind)}`;
  if (typeof within === 'string') {
    const list = innerListOfKind[kind];
    return editorPath('points', within) + (list === undefined ? '' : `/${list}/${encodeURIComponent(key)}`);
  }
  const part = partOfKind[kind];
  if (part === undefined) return undefined;
  return editorPath(part, part === 'attributes' ? `${kind.replace(/ attribute$/, '')}:${key}` : key);
}

/** `level points/expert`. */
export function nameOfChange({ kind, key, within }: Subject): string {
  if (typeof key !== 'string') return kind;
  return `${kind} ${typeof within === 'string' ? `${within}/` : ''}${key}`;
}

/** What a change does, in a word. */
export const actionWords: Readonly<Record<Change['action'], string>> = {
  add: 'added',
  revive: 'restored with its data',
  change: 'changed',
  archive: 'archived',
};

/** A value of a field as an operator reads it. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((item) => shownValue(item)).join(', ');
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return value.toLocaleString('en-US', { maximumFractionDigits: 15 });
  return JSON.stringify(value);
}
