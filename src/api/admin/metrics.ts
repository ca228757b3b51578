import { z } from 'zod';
import { filledText, oneOf, text } from '../../config/fields.js';
import { resourceRoutes } from './resource.js';
import { key, uuid } from './requests.js';

const unitType = oneOf(['number', 'currency']);

/** Metrics (contract, `CreatedMetric`). */
export const metricAdminRoutes = resourceRoutes({
  list: 'metrics',
  path: '/metrics',
  operations: 'admin_metrics',
  one: 'metric',
  many: 'metrics',
  create: z.object({ name: filledText(), key, unitType: unitType.optional(), units: text().optional() }),
  update: z.object({ id: uuid, name: filledText().optional(), unitType: unitType.optional(), units: text().optional() }),
  shown: z.object({ id: z.uuid(), name: z.string(), key: z.string(), unitType: z.enum(['number', 'currency']), units: z.string() }),
  show: ({ id, name, key: own, unitType: unit, units }) => ({ id, name, key: own, unitType: unit, units }),
});
