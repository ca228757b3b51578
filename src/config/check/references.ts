/** References between the objects of a configuration, and what is wrong with them: nothing there, archived, the same thing twice. */
import { type Field, kindOf, type ReferenceKind, type Repetition } from '../schema/kind.js';
import { kinds, singles, topLists } from '../schema/kinds.js';
import { type Achievement, type ConfigDocument, type ConfigObject } from '../schema/model.js';
import { type At, type Parts } from './parts.js';
import { type ConfigProblem, named, type Subject } from '../file/problems.js';
import { namedIn, type NamedObject } from './template-problems.js';
import { type Path } from '../file/yaml.js';

interface Reference {
  readonly path: Path;
  /** What refers. */
  readonly subject: Subject;
  readonly to: ReferenceKind;
  readonly id: string;
}

/** The references of one field. */
interface FieldReferences {
  readonly references: readonly Reference[];
  /** Why no id may be given twice. */
  readonly repetition: Repetition | undefined;
}

/** References that lead nowhere, or to another kind, or to what is archived; and what a list names a second time. */
export function referenceProblems(document: ConfigDocument, parts: Parts): ConfigProblem[] {
  const targets = targetsOf(document);
  const all = allReferences(document, parts);
  const wrong = all.flatMap(({ references }) =>
    references.flatMap(({ path, subject, to, id }): ConfigProblem[] => {
      const target = targets.get(id);
      if (!target) return [{ code: 'unknown_reference', path, subject, to }];
      if (target.kind !== to) return [{ code: 'unknown_reference', path, subject, to, only: named(target.kind, target.object) }];
      return target.object.archived ? [{ code: 'archived_reference', path, subject, to, key: target.object.key, why: 'archived' }] : [];
    }),
  );
  const repeated = all.flatMap(({ references, repetition }) => {
    const seen = new Set<string>();
    return references.flatMap(({ path, subject, to, id }): ConfigProblem[] => {
      const known = seen.has(id);
      seen.add(id);
      const target = targets.get(id);
      if (!known || !target || !repetition) return [];
      return [{ code: 'repeated_reference', path, subject, to, key: target.object.key, repetition }];
    });
  });
  return [...wrong, ...repeated];
}

/** What refers to an object; each once. */
export function referrersOf(document: ConfigDocument, parts: Parts, id: string): Subject[] {
  const all = allReferences(document, parts).flatMap(({ references }) => references);
  const subjects = all.filter((reference) => reference.id === id).map(({ subject }) => subject);
  subjects.push(...templatesNaming(document, parts, id));
  return [...new Map(subjects.map((subject) => [JSON.stringify(subject), subject])).values()];
}

/** The templates whose texts name an object by its key. */
function templatesNaming(document: ConfigDocument, { templates }: Parts, id: string): Subject[] {
  const target = targetsOf(document).get(id);
  const isMeant = ({ kind, key }: NamedObject): boolean => kind === target?.kind && key === target.object.key;
  return templates.filter(({ object }) => namedIn(object).some(isMeant)).map(({ object }) => ({ kind: 'template', key: object.key }));
}

/** Every object of a list of the document, archived or not. */
function targetsOf(document: ConfigDocument): ReadonlyMap<string, { readonly kind: string; readonly object: ConfigObject }> {
  const objects = topLists.flatMap((list) => document[list].map((object) => ({ kind: kindOf(kinds[list], object), object })));
  return new Map(objects.map((target) => [target.object.id, target]));
}

/** The references of un-archived objects, and of what there is one of. */
function allReferences(document: ConfigDocument, parts: Parts): FieldReferences[] {
  const ofObjects = Object.values(kinds).flatMap(({ list, name, fields }) => {
    const referring = fields.filter(({ refers }) => refers);
    if (referring.length === 0) return [];
    return (parts[list] as readonly At<ConfigObject>[]).flatMap(({ object, path }) =>
      referencesIn(referring, object, { path, subject: { kind: name, key: object.key } }),
    );
  });
  const ofSingles = (['streaks', 'messages'] as const).flatMap((part) =>
    referencesIn(singles[part].fields, document[part], { path: [part], subject: { kind: part } }),
  );
  return [...ofObjects, ...ofSingles];
}

function referencesIn(fields: readonly Field[], object: object, { path, subject }: Pick<Reference, 'path' | 'subject'>): FieldReferences[] {
  const found: FieldReferences[] = [];
  for (const { stored, refers } of fields) {
    const value = (object as Readonly<Record<string, unknown>>)[stored];
    if (!refers || value === undefined || value === null) continue;
    const { to, inside, repetition } = refers;
    const at = [...path, stored];
    const references = !Array.isArray(value)
      ? [{ path: at, subject, to, id: value as string }]
      : value.map((element: unknown, index): Reference => {
          if (!inside) return { path: [...at, index], subject, to, id: element as string };
          return { path: [...at, index, inside.stored], subject, to, id: (element as Record<string, string>)[inside.stored] ?? '' };
        });
    if (references.length > 0) found.push({ references, repetition });
  }
  return found;
}

/** The ids of the achievements that one is made of. */
export const neededBy = (achievement: Achievement): readonly string[] =>
  achievement.trigger === 'achievement' ? achievement.achievementIds : [];
