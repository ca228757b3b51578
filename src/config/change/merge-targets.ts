/** The objects of a configuration that others refer to, by key and by id. Part of merge.ts. */
import { type KeyOf } from '../file/convert.js';
import { type Problem } from '../file/problems.js';
import { type ReferenceKind } from '../schema/kind.js';
import { type ConfigObject } from '../schema/model.js';

type Target = Pick<ConfigObject, 'id' | 'archived'>;

export class MergeTargets {
  /** Archived or not, by kind and key: `metric flashcards-viewed`, `user attribute city`. */
  private readonly targets = new Map<string, Target>();
  private readonly keys = new Map<string, string>();
  private readonly pruned = new Set<string>();

  /** Adds an object by its identity (schema/kind.ts). `isPruned`: the file archives it, since it does not mention it. */
  add(identity: string, { id, key, archived }: Target & Pick<ConfigObject, 'key'>, isPruned: boolean): void {
    if (isPruned) this.pruned.add(id);
    this.targets.set(identity, { id, archived: archived || isPruned });
    this.keys.set(id, key);
  }

  /** The key of an object that others can refer to. */
  keyOf: KeyOf = (_kind, id) => this.keys.get(id) ?? id;

  /** The id of the object with a key, empty for a key that leads nowhere; and why it can't be referred to. */
  find(to: ReferenceKind, key: string): { readonly id: string; readonly problem?: Problem } {
    const target = this.targets.get(`${to} ${key}`);
    if (target?.archived) return { id: target.id, problem: { code: 'archived_reference', to, key, why: this.whyArchived(target) } };
    if (target) return { id: target.id };
    const other = otherType[to];
    const namesake = other && this.targets.get(`${other} ${key}`);
    return {
      id: '',
      problem: { code: 'unknown_reference', to, key, ...(namesake && !namesake.archived ? { only: `${other} with that key` } : {}) },
    };
  }

  private whyArchived({ id }: Target): 'pruned' | 'not_in_file' {
    return this.pruned.has(id) ? 'pruned' : 'not_in_file';
  }
}

const otherType: Readonly<Partial<Record<ReferenceKind, ReferenceKind>>> = {
  'user attribute': 'event attribute',
  'event attribute': 'user attribute',
};
