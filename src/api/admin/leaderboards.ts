import { z } from 'zod';
import { EditRefusal } from '../../config/edits.js';
import { day, filledText, oneOf, text, timeOfDay, whole } from '../../config/fields.js';
import type { Leaderboard } from '../../config/model.js';
import type { Problem } from '../../config/problems.js';
import { finishedEnd, statusProblem } from '../../config/transitions.js';
import { statusOn } from '../../responses/leaderboards.js';
import { limits } from '../../shared/limits.js';
import { resourceRoutes } from './resource.js';
import { key, listOf, uuid } from './requests.js';
import { dateShape } from '../../shared/shapes.js';

const statuses = ['inactive', 'active', 'scheduled', 'finished'] as const;
const rankings = ['metric', 'streak', 'points'] as const;
const units = ['day', 'month', 'year'] as const;

/** The contract's `CreateLeaderboardRequestItem`. */
const create = z.object({
  name: filledText(),
  key,
  description: text().optional(),
  status: oneOf(statuses).optional(),
  rankBy: oneOf(rankings),
  metricId: uuid.optional(),
  pointsSystemId: uuid.optional(),
  maxParticipants: whole(1, limits.maxParticipants).nullable().optional(),
  start: day.optional(),
  end: day.optional(),
  startTime: timeOfDay.optional(),
  endTime: timeOfDay.optional(),
  breakdownAttributes: listOf(uuid, limits.maxBreakdownAttributes).optional(),
  runUnit: oneOf(units).optional(),
  runInterval: whole(1, limits.maxRunUnits).optional(),
});

/** The contract's `UpdateLeaderboardRequestItem`: null clears. */
const update = create.partial().extend({
  id: uuid,
  end: day.nullable().optional(),
  startTime: timeOfDay.nullable().optional(),
  endTime: timeOfDay.nullable().optional(),
  runUnit: oneOf(units).nullable().optional(),
});

/** The contract's `AdminLeaderboard`: what a leaderboard doesn't have is left out. */
const shown = z.object({
  id: z.uuid(),
  name: z.string(),
  key: z.string(),
  description: z.string().optional(),
  status: z.enum(statuses),
  rankBy: z.enum(rankings),
  metricId: z.uuid().optional(),
  pointsSystemId: z.uuid().optional(),
  maxParticipants: z.number().nullable(),
  start: dateShape,
  end: dateShape.optional(),
  startTime: z.string().optional(),
  endTime: z.string().optional(),
  breakdownAttributes: z.array(z.uuid()),
  runUnit: z.enum(units).optional(),
  runInterval: z.number().optional(),
});

const show = (board: Leaderboard, today: string): z.infer<typeof shown> => ({
  id: board.id,
  name: board.name,
  key: board.key,
  ...(board.description === null ? {} : { description: board.description }),
  status: statusOn(board, today),
  rankBy: board.rankBy,
  ...(board.rankBy === 'metric' ? { metricId: board.metricId } : {}),
  ...(board.rankBy === 'points' ? { pointsSystemId: board.pointsSystemId } : {}),
  maxParticipants: board.maxParticipants,
  start: board.start,
  ...(board.end === null ? {} : { end: board.end }),
  ...(board.startTime === null ? {} : { startTime: board.startTime }),
  ...(board.endTime === null ? {} : { endTime: board.endTime }),
  breakdownAttributes: [...board.breakdownAttributes],
  ...(board.runUnit === null ? {} : { runUnit: board.runUnit, runInterval: board.runInterval }),
});

/** What is asked of the status: nothing, where it is what the leaderboard is shown as already. */
function prepare(fields: Partial<z.infer<typeof create> | z.infer<typeof update>>, was: Leaderboard | undefined, today: string): object {
  const { status, ...others } = fields;
  const shownAs = was ? statusOn(was, today) : 'new';
  if (status === undefined || status === shownAs) return others;
  const refuse = (problem: Problem): EditRefusal =>
    new EditRefusal([{ ...problem, subject: { kind: 'leaderboard', key: was?.key ?? fields.key ?? '' } }]);
  const problem = statusProblem(shownAs, status, fields.start ?? was?.start, today);
  if (problem !== null) throw refuse(problem);
  if (status !== 'finished') return fields;
  const end = finishedEnd(shownAs, fields.end === undefined ? (was?.end ?? null) : fields.end, today);
  if (end === null || (typeof fields.end === 'string' && fields.end !== end)) throw refuse({ code: 'needs_past_end', today });
  return { ...others, status: 'active', end };
}

export const leaderboardAdminRoutes = resourceRoutes({
  list: 'leaderboards',
  path: '/leaderboards',
  operations: 'admin_leaderboards',
  one: 'leaderboard',
  many: 'leaderboards',
  create,
  update,
  shown,
  show,
  prepare,
});
