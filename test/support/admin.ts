import type { Reply } from './world.js';

/** A tenant or a key of the Admin API: the fields of all kinds, for tests that know the kind. */
export interface AdminItem {
  readonly id: string;
  readonly name: string;
  readonly customerId: string;
  readonly userId: string;
  readonly status: string;
  readonly key: string;
  readonly prefix: string;
  readonly lastUsed: string;
  readonly revoked: string | null;
  readonly tenantId: string | null;
}

interface AdminIssue {
  readonly index: number;
  readonly id?: string;
  readonly userId?: string;
  readonly severity: string;
  readonly message: string;
}

/** The response of a batch of the Admin API. */
export interface BatchBody {
  readonly created: readonly AdminItem[];
  readonly updated: readonly AdminItem[];
  readonly deleted: readonly { readonly id: string }[];
  readonly issues: readonly AdminIssue[];
}

export const batchOf = ({ body }: Reply): BatchBody => body as BatchBody;
export const itemOf = ({ body }: Reply): AdminItem => body as AdminItem;
export const itemsOf = ({ body }: Reply): readonly AdminItem[] => body as readonly AdminItem[];
export const errorOf = ({ body }: Reply): string => (body as { error: string }).error;

/** The first, which must be there. */
export function first<T>([item]: readonly T[]): T {
  if (item === undefined) throw new Error('there is none');
  return item;
}
