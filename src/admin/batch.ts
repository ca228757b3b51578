import { z } from 'zod';
import { limits } from '../limits.js';

/** The contract's `AdminIssue`: why one item of a batch was not done, by its place in the batch. */
export const issueSchema = z.object({
  index: z.number().int(),
  id: z.string().optional(),
  userId: z.string().optional(),
  severity: z.enum(['error', 'warning']),
  message: z.string(),
});
export type Issue = z.infer<typeof issueSchema>;

/** The items of a batch: at least one, at most `max`. */
export const batch = <T extends z.ZodType>(item: T, max: number = limits.maxBatchItems): z.ZodArray<T> =>
  z.array(item).min(1, 'must have at least 1 item').max(max, `must have at most ${max} items`);

/** Does the items of a batch one after the other; what can't be done is reported by index, and the rest is done. */
export async function eachItem<T>(
  items: readonly T[],
  act: (item: T) => Promise<string | undefined>,
  name: (item: T) => Pick<Issue, 'id' | 'userId'>,
): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const [index, item] of items.entries()) {
    const message = await act(item);
    if (message !== undefined) issues.push({ index, ...name(item), severity: 'error', message });
  }
  return issues;
}
