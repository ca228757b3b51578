import type { components, operations } from '../../api/schema/admin.js';

export type Endpoint = operations['admin_webhooks_list']['responses'][200]['content']['application/json'][number];
export type Delivery = components['schemas']['WebhookDelivery'];
export type Kind = Delivery['kind'];
