import { namedValues, type KeyedKind } from '../../../../config/templates/variables.js';
import type { JsonObject } from './json.js';
import { referable } from './references.js';

/** A variable as a template writes it. */
interface VariableName {
  readonly name: string;
  readonly kind: string;
  readonly description: string;
}

/** The parts of the file that variables have keys of. */
const kindOfRoot: Readonly<Record<string, KeyedKind>> = {
  metrics: 'metric',
  points: 'points system',
  user: 'user attribute',
  leaderboards: 'leaderboard',
};

/** Beyond these many objects, a variable is listed once, with `<key>` in place of the key. */
const mostExpanded = 8;

/** `metrics.cards.total`, or `metrics["2-cards"].total` for a key that Liquid does not read as a name. */
const withKey = (name: string, key: string): string =>
  /^[a-zA-Z_][\w-]*$/.test(key) ? name.replace('<key>', key) : name.replace('.<key>', `[${JSON.stringify(key)}]`);

/** The variables of a type of message, with the keys of a draft written out. */
export function variablesOf(type: string, file: JsonObject): VariableName[] {
  return namedValues
    .filter(({ only }) => only === undefined || (only as readonly string[]).includes(type))
    .flatMap(({ name, kind, description }) => {
      const of = kindOfRoot[name.split('.')[0] ?? ''];
      if (of === undefined || !name.includes('<key>')) return [{ name, kind, description }];
      const keys = referable(file, of).map(({ key }) => key);
      return keys.length === 0 || keys.length > mostExpanded
        ? [{ name, kind, description }]
        : keys.map((key) => ({ name: withKey(name, key), kind, description }));
    });
}

/** What is inserted for a variable: a loop for an item of a list. */
export function insertionOf({ name, kind }: Pick<VariableName, 'name' | 'kind'>): string {
  const [list, field] = name.split('[].');
  if (field !== undefined) return `{% for each in ${list ?? ''} %}{{ each.${field} }} {% endfor %}`;
  return kind === 'number' ? `{{ ${name} | number }}` : kind === 'date' ? `{{ ${name} | date }}` : `{{ ${name} }}`;
}
