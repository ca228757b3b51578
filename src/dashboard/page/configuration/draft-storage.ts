import { isObject, type Json, type JsonObject } from './json.js';

/** A changed file that is not applied yet. */
export interface StoredDraft {
  /** The version of the configuration that it was made from. */
  readonly version: number;
  readonly file: JsonObject;
}

/** What drafts need of `sessionStorage`. */
export interface DraftStorage {
  readonly getItem: (name: string) => string | null;
  readonly setItem: (name: string, text: string) => void;
  readonly removeItem: (name: string) => void;
}

const nameOf = (tenant: string | undefined): string => `laurel-draft:${tenant ?? ''}`;

/** The draft of a tenant in this tab; undefined without one, or for one that can't be read. */
export function loadDraft(storage: DraftStorage, tenant: string | undefined): StoredDraft | undefined {
  const text = storage.getItem(nameOf(tenant));
  if (text === null) return undefined;
  try {
    const stored = JSON.parse(text) as Json;
    if (!isObject(stored)) return undefined;
    const { version, file } = stored;
    return typeof version === 'number' && isObject(file) ? { version, file } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns whether the browser kept it: it refuses files beyond its quota. */
export function saveDraft(storage: DraftStorage, tenant: string | undefined, draft: StoredDraft | undefined): boolean {
  if (!draft) {
    storage.removeItem(nameOf(tenant));
    return true;
  }
  try {
    storage.setItem(nameOf(tenant), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}
