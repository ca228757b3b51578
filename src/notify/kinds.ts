/** The kinds of webhooks, for what makes and sends them. The list stands where configurations are checked, which is further down. */
export { webhookKinds, type WebhookKind } from '../config/webhook-kinds.js';
