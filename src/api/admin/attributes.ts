import { z } from 'zod';
import { filledText, oneOf } from '../../config/fields.js';
import { resourceRoutes } from './resource.js';
import { key, uuid } from './requests.js';

const type = oneOf(['user', 'event']);

/** Attributes of users and events (contract, `AdminAttribute`). The type of one stays, as its key does. */
export const attributeAdminRoutes = resourceRoutes({
  list: 'attributes',
  path: '/attributes',
  operations: 'admin_attributes',
  one: 'attribute',
  many: 'attributes',
  create: z.object({ name: filledText(), key, type }),
  update: z.object({ id: uuid, name: filledText().optional() }),
  shown: z.object({ id: z.uuid(), name: z.string(), key: z.string(), type: z.enum(['user', 'event']) }),
  show: (attribute) => ({ id: attribute.id, name: attribute.name, key: attribute.key, type: attribute.type }),
});
