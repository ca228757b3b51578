import { z } from 'zod';
import { attributeShape, dateShape } from '../shared/shapes.js';

/** A run of a leaderboard. */
export const runShape = z
  .object({
    start: dateShape,
    end: dateShape.nullable().meta({ description: 'The last day; null for a leaderboard that has no end.' }),
    status: z
      .enum(['scheduled', 'active', 'finished'])
      .meta({ description: 'Scheduled before its first day in UTC, finished 12 hours after its last day in UTC.' }),
    groups: z.number().int().meta({ description: 'How many groups have participants: at most 1 for a leaderboard without breakdown.' }),
  })
  .meta({ id: 'LeaderboardRun' });
export type RunResponse = z.infer<typeof runShape>;

/** A group of a run. */
export const groupShape = z
  .object({
    attributes: z.array(attributeShape).meta({ description: 'Empty for a leaderboard without breakdown.' }),
    participants: z.number().int().meta({ description: 'Users with a value, those beyond `maxParticipants` included.' }),
  })
  .meta({ id: 'LeaderboardGroup' });
export type GroupResponse = z.infer<typeof groupShape>;

/** How the values of a run and group are distributed. */
export const distributionShape = z
  .object({
    participants: z.number().int().meta({ description: 'Users with a value, those beyond `maxParticipants` included.' }),
    lowest: z.number().nullable().meta({ description: 'Null without participants.' }),
    highest: z.number().nullable(),
    median: z.number().nullable().meta({ description: 'The value in the middle; of two, the lower one.' }),
    buckets: z
      .array(
        z.object({
          from: z.number().meta({ description: 'Inclusive.' }),
          to: z.number().meta({ description: 'Exclusive.' }),
          users: z.number().int(),
        }),
      )
      .meta({ description: 'At most 20 ranges of one width, 1, 2 or 5 times a power of ten, from the lowest to the highest value.' }),
  })
  .meta({ id: 'LeaderboardDistribution' });
export type DistributionResponse = z.infer<typeof distributionShape>;
