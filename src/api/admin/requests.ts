import { z } from 'zod';
import { keySchema } from '../../config/schema/fields.js';
import type { Result } from '../../engine/refusals.js';
import { limits } from '../../shared/limits.js';
import { boundedArray, instantShape } from '../../shared/shapes.js';
import { idsText, instantText, integerText } from '../query.js';

/**
 * The contract's `AdminIssue`: why one item of a batch failed, by its index in the batch. `level` and `reason` are not in the contract, but the
 * official client library refuses an issue without them.
 */
export const issueSchema = z
  .object({
    index: z.number().int().meta({ description: 'The index of the item in the batch, from 0.' }),
    id: z.string().optional(),
    userId: z.string().optional(),
    severity: z.enum(['error', 'warning']),
    message: z.string().meta({ description: 'Why the item failed, in a sentence.' }),
    level: z.enum(['error', 'warning']).optional().meta({ deprecated: true, description: 'The same as `severity`.' }),
    reason: z.string().optional().meta({ deprecated: true, description: 'The same as `message`.' }),
  })
  .meta({ id: 'Issue' });
export type Issue = z.infer<typeof issueSchema>;

/** The contract's `DeletedResource`. */
export const deletedSchema = z.object({ id: z.uuid() }).meta({ id: 'Deleted' });

/** An attempt of a delivery, to a webhook endpoint or to a user. */
export const attemptSchema = z
  .object({
    at: instantShape,
    durationMs: z.number(),
    status: z.number().int().nullable().meta({ description: 'Of the response; null without one.' }),
    answer: z
      .string()
      .nullable()
      .meta({ description: `The first ${limits.webhookAnswerBytes} bytes of the response body.` }),
    error: z.string().nullable().meta({ description: 'Why the attempt failed; null if it did not.' }),
  })
  .meta({ id: 'DeliveryTry' });

/** A request to send failed deliveries again, besides what it filters by. */
export const resendBody = z.object({
  from: instantText('Only deliveries that were queued at this instant or later.'),
  until: instantText('Only deliveries that were queued before this instant.'),
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'must be `next` of the response before')
    .optional()
    .meta({ description: '`next` of the response before; the first request has none.' }),
});

export const resendResponse = z
  .object({
    resent: z.number().int().meta({ description: 'How many deliveries this request sends again.' }),
    remaining: z
      .number()
      .int()
      .meta({ description: `How many failed deliveries the next requests look at, counted up to ${limits.resendCounted}.` }),
    next: z.string().nullable().meta({ description: 'The `cursor` of the next request; null when there is nothing left.' }),
  })
  .meta({ id: 'ResentDeliveries' });

/** What both operations say about their steps. */
export const resendDescription =
  `A request looks at ${limits.resendRows} failed deliveries, the oldest first, and sends those again that match, with all of their attempts. Repeat it ` +
  'with `cursor` until `next` is null.';

/** The items of a batch: at least one, at most `max`. */
export const batch = <T extends z.ZodType>(item: T, max: number = limits.maxBatchItems) => boundedArray(item, max, 1);

/** The responses of a POST that creates, restores or grants: 201 if it did so at least once, otherwise 200. */
export const batchResponses = <T extends z.ZodType>(response: T): { 200: T; 201: T } => ({ 200: response, 201: response });

export const batchStatus = (done: number): 200 | 201 => (done > 0 ? 201 : 200);

/** Of a batch that can be checked first. */
export const dryRun = z.boolean().default(false).meta({ description: 'Whether to check the batch without changing anything.' });

/** The issue of an item by its index in the batch. */
export const issueOf = (
  index: number,
  named: Pick<Issue, 'id' | 'userId'>,
  message: string,
  severity: Issue['severity'] = 'error',
): Issue => ({
  index,
  ...named,
  severity,
  message,
  level: severity,
  reason: message,
});

/** A warning about an item that did not fail by it. */
export const warningOf = (index: number, message: string): Issue => issueOf(index, {}, message, 'warning');

/** Processes the items of a batch in order. One that is refused becomes an issue, and the others are still processed: their values are `done`. */
export async function eachItem<I, T>(
  items: readonly I[],
  act: (item: I) => Promise<Result<T>>,
  name: (item: I) => Pick<Issue, 'id' | 'userId'>,
): Promise<{ done: T[]; issues: Issue[] }> {
  const done: T[] = [];
  const issues: Issue[] = [];
  for (const [index, item] of items.entries()) {
    const result = await act(item);
    if (result.ok) done.push(result.value);
    else issues.push(issueOf(index, name(item), result.refusal.message, result.refusal.severity));
  }
  return { done, issues };
}

/** Why an item failed. */
export interface Problem {
  readonly problem: string;
}

/** Splits the outcomes of a batch: the results in order, and an issue for each item that failed. */
export function report<I, T extends object>(
  items: readonly I[],
  outcomes: readonly (T | Problem)[],
  name: (item: I) => Pick<Issue, 'id' | 'userId'>,
): { done: T[]; issues: Issue[] } {
  const done: T[] = [];
  const issues: Issue[] = [];
  for (const [index, item] of items.entries()) {
    const outcome = outcomes[index];
    if (outcome === undefined) continue;
    if (isProblem(outcome)) issues.push(issueOf(index, name(item), outcome.problem));
    else done.push(outcome);
  }
  return { done, issues };
}

const isProblem = (outcome: object): outcome is Problem => 'problem' in outcome;

/** `limit` and `skip` of the lists of the Admin API. */
export const pageQuery = z.object({ limit: integerText(1, limits.maxBatchItems, 10), skip: integerText(0, limits.maxAbsoluteTotal, 0) });

/** The `ids` of a deletion. */
export const idList = z.object({ ids: idsText(z.uuid('must be a UUID'), limits.maxBatchItems) });

/** Fields that resources of the configuration share in requests and responses. */

export const uuid = z.uuid('must be a UUID');
export { keySchema as key };

/** A list of a request, bounded by the number of objects of a kind. */
export const listOf = <T extends z.ZodType>(element: T, max: number = limits.maxConfigObjects) => boundedArray(element, max);

/** A filter of users or events: the value that an attribute must have. */
export const filter = z.object({ attributeId: uuid, attributeValue: z.string() }).meta({ id: 'AttributeFilter' });

export const badge = z.object({ url: z.string() }).meta({ id: 'Badge' });
