import { isObject, type Json, type JsonObject } from '../file/json.js';

/** A changed file that is not applied yet. */
export interface StoredDraft {
  /** The version of the configuration that it was made from. */
  readonly version: number;
  readonly file: JsonObject;
  /** How many objects it changes. */
  readonly changes?: number;
}

/** What drafts need of `sessionStorage`. */
export interface DraftStorage {
  readonly length: number;
  readonly key: (no: number) => string | null;
  readonly getItem: (name: string) => string | null;
  readonly setItem: (name: string, text: string) => void;
  readonly removeItem: (name: string) => void;
}

/** Whose draft it is: several operators may use a tab, one after the other. */
export interface DraftOwner {
  /** The id of the key that the operator signed in with. */
  readonly key: string;
  /** The id of the tenant; undefined for the default one. */
  readonly tenant: string | undefined;
}

const start = 'laurel-draft:';
const startOf = (key: string): string => `${start}${key}:`;
export const draftName = ({ key, tenant }: DraftOwner): string => `${startOf(key)}${tenant ?? ''}`;

const draftNames = (storage: DraftStorage): string[] =>
  Array.from({ length: storage.length }, (_, no) => storage.key(no) ?? '').filter((name) => name.startsWith(start));

/** Whether there is a draft of any tenant in this tab. */
export const hasDrafts = (storage: DraftStorage): boolean => draftNames(storage).length > 0;

/** Removes the drafts of this tab; those of the operator with the key `kept` stay. */
export function forgetDrafts(storage: DraftStorage, kept?: string): void {
  for (const name of draftNames(storage)) if (kept === undefined || !name.startsWith(startOf(kept))) storage.removeItem(name);
}

/** The draft of an operator for a tenant in this tab; undefined without one, or for one that can't be read. */
export function loadDraft(storage: DraftStorage, owner: DraftOwner): StoredDraft | undefined {
  const text = storage.getItem(draftName(owner));
  if (text === null) return undefined;
  try {
    const stored = JSON.parse(text) as Json;
    if (!isObject(stored)) return undefined;
    const { version, file, changes } = stored;
    if (typeof version !== 'number' || !isObject(file)) return undefined;
    return { version, file, ...(typeof changes === 'number' ? { changes } : {}) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns whether the browser kept it: it refuses files beyond its quota. */
export function saveDraft(storage: DraftStorage, owner: DraftOwner, draft: StoredDraft | undefined): boolean {
  if (!draft) {
    storage.removeItem(draftName(owner));
    return true;
  }
  try {
    storage.setItem(draftName(owner), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}
