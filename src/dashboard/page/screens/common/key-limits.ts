import type { components } from '../../api/schema/admin.js';

type Key = components['schemas']['ApplicationKey'];

/** The limits of an application key, in words. */
export function limitsOf({ permissions, fields, maxEventValue }: Pick<Key, 'permissions' | 'fields' | 'maxEventValue'>): string {
  const parts = [
    permissions && `may ${permissions.join(', ') || 'nothing'}`,
    fields && `writes ${fields.join(', ') || 'no fields'}`,
    maxEventValue !== null && `events up to ${maxEventValue}`,
  ];
  return parts.filter((part) => typeof part === 'string').join('; ') || 'none';
}
