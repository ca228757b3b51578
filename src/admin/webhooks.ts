import { z } from 'zod';
import { filledText, oneOf, webhookUrl } from '../config/fields.js';
import type { Webhook } from '../config/model.js';
import { webhookKinds } from '../config/webhook-kinds.js';
import type { EndpointState } from '../notify/desk.js';
import { boundedArray } from '../bounded.js';
import { instantShape } from '../shapes.js';
import { resourceRoutes } from './resource.js';
import { key, uuid } from './shapes.js';

const statuses = ['active', 'inactive'] as const;
const kinds = boundedArray(oneOf(webhookKinds), webhookKinds.length, 1);

const create = z.object({ name: filledText(), key: key.optional(), url: webhookUrl, events: kinds, status: oneOf(statuses).optional() });

const shown = z.object({
  id: z.uuid(),
  key: z.string().meta({ description: 'Names the endpoint in a configuration file.' }),
  name: z.string(),
  url: z.string(),
  events: z.array(z.enum(webhookKinds)),
  status: z.enum(statuses).meta({ description: 'Inactive as well when Laurel has switched it off.' }),
  failingSince: instantShape.nullable().meta({ description: 'Since when no message could be delivered; null after a success.' }),
  switchedOff: instantShape.nullable().meta({
    description: 'When Laurel switched it off, because it had failed for days. Setting its status to active switches it on again.',
  }),
  created: instantShape,
  updated: instantShape,
  secret: z.string().optional().meta({ description: 'With which messages are signed: in the answer to a create, and never again.' }),
});

type Shown = z.infer<typeof shown>;

const show = ({ id, key: own, name, url, events, status, created, updated }: Webhook): Shown => ({
  ...{ id, key: own, name, url, events: [...events], status, failingSince: null, switchedOff: null, created, updated },
});

const withState = (webhook: Shown, state: EndpointState | undefined): Shown => ({
  ...webhook,
  status: state?.switchedOff ? 'inactive' : webhook.status,
  failingSince: state?.failingSince?.toISOString() ?? null,
  switchedOff: state?.switchedOff?.toISOString() ?? null,
});

/** Where messages are sent (issue 6; docs/webhooks.md). The contract has no such resource. */
export const webhookAdminRoutes = resourceRoutes({
  list: 'webhooks',
  path: '/webhooks',
  operations: 'admin_webhooks',
  one: 'webhook',
  many: 'webhooks',
  create,
  update: create.omit({ key: true }).partial().extend({ id: uuid }),
  shown,
  show,
  complete: async ({ services, tenant, objects, shown: plain, isNew }) => {
    const nos = objects.map(({ no }) => no);
    if (isNew) {
      const secrets = await services.webhooks.secrets(tenant, nos);
      return plain.map((webhook, i) => ({ ...webhook, secret: secrets.get(nos[i] ?? 0) ?? '' }));
    }
    const states = await services.webhooks.states(tenant, nos);
    return plain.map((webhook, i) => withState(webhook, states.get(nos[i] ?? 0)));
  },
  // Who sets an endpoint to active means it, whether the configuration or Laurel had it inactive.
  changed: (services, tenant, changes) => {
    const active = changes.filter(({ fields }) => fields.status === 'active');
    return services.webhooks.switchOn(
      tenant,
      active.map(({ object }) => object.no),
    );
  },
});
