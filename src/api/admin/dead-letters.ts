/** The entries of a tenant's ledger that Postgres refused (docs/operations/dead-letters.md). */
import { z } from 'zod';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { integerText } from '../query.js';
import { defineRoute, type Route } from '../route.js';
import { instantShape } from '../../shared/shapes.js';
import { uuid } from './requests.js';

const letterSchema = z
  .object({
    id: z.string(),
    streamId: z.string().meta({ description: 'The id of the entry in the ledger: milliseconds since 1970, and a number.' }),
    kind: z.string().nullable().meta({ description: 'Null if the entry cannot be decoded.' }),
    userId: z.string().nullable(),
    sqlstate: z.string().nullable().meta({ description: 'The error code of Postgres; null if Laurel refused the entry before.' }),
    reason: z.string(),
    entry: z.unknown().meta({ description: 'The decoded entry, or null.' }),
    at: instantShape,
  })
  .meta({ id: 'DeadLetter' });

const params = z.object({ id: uuid });
const named = z.object({ id: z.string() });

const unknown = (id: string): LaurelError => new LaurelError('not_found', `There is no dead letter with the id ${JSON.stringify(id)}.`);

export const deadLetterRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/dead-letters',
    operation: 'admin_dead_letters_list',
    summary: 'List the ledger entries that Postgres refused, the oldest first',
    responses: { 200: z.array(letterSchema) },
    query: z.object({
      limit: integerText(1, limits.maxDeadLettersPage, 10),
      skip: integerText(0, limits.maxUsersSkipped, 0),
    }),
    handle: async ({ services, tenant, query }) => {
      const letters = await services.deadLetters.list(tenant, query);
      return { status: 200, body: letters.map((letter) => ({ ...letter, at: letter.at.toISOString() })) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/dead-letters/{id}/retry',
    operation: 'admin_dead_letters_retry',
    summary: 'Write a refused ledger entry again, after you have fixed the reason',
    responses: { 200: named },
    params,
    handle: async ({ services, tenant, params: { id } }) => {
      if (!(await services.deadLetters.retry(tenant, id))) throw unknown(id);
      return { status: 200, body: { id } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/dead-letters/{id}',
    operation: 'admin_dead_letters_delete',
    summary: 'Discard a refused ledger entry',
    responses: { 200: named },
    params,
    handle: async ({ services, tenant, params: { id } }) => {
      if (!(await services.deadLetters.discard(tenant, id))) throw unknown(id);
      return { status: 200, body: { id } };
    },
  }),
];
