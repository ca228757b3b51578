import type { ConfigDocument, Leaderboard } from '../../config/schema/model.js';
import { rankable, type Ranked, ranksBetween, type RunOfBoard } from '../../history/counts.js';
import { boardDefinition, entersBoard } from '../../plan/activation.js';
import { mustGet } from '../../plan/active-config.js';
import { perpetualRun } from '../../plan/boards.js';
import { runOf, statusOn } from '../../responses/leaderboards.js';
import { dateToDay, utcDate } from '../../shared/calendar.js';
import { counted, pairs, type PlannedChange, type Question, subjectOf } from './question.js';

/** The `no` of each object by its id. */
type Numbers = ReadonlyMap<string, number>;

/** Users who enter a leaderboard that opens, and participants who leave one that closes or has another limit. */
export function leaderboardQuestions(change: PlannedChange): Question[] {
  const today = utcDate(change.now);
  const { attributes, metrics, pointsSystems } = change.to;
  const numbers: Numbers = new Map([attributes, metrics, pointsSystems].flat().map(({ id, no }) => [id, no]));
  return pairs(change.from.leaderboards, change.to.leaderboards).flatMap(({ was, is }): Question[] => {
    const wasOpen = was !== undefined && isOpen(was, today);
    const opens = isOpen(is, today) && !(wasOpen && boardDefinition(was, change.from) === boardDefinition(is, change.to));
    if (opens) return opening(is, change.to, numbers);
    if (!wasOpen) return [];
    return isOpen(is, today) ? limitQuestions(was, is, today) : [closing(was, is, today)];
  });
}

const isOpen = (board: Leaderboard, today: string): boolean => !board.archived && statusOn(board, today) === 'active';

/** A leaderboard that counts what users gain starts empty. */
function opening(board: Leaderboard, document: ConfigDocument, numbers: Numbers): Question[] {
  const ranked = entersBoard(board) ? rankedOf(board, document, numbers) : null;
  if (!ranked) return [];
  const { maxParticipants: most } = board;
  const limited = (count: number): string =>
    ranked.breakdown.length === 0 && count > most ? `, and the best ${most.toLocaleString('en-US')} would have a rank` : '';
  return [
    {
      subject: subjectOf('leaderboard', board),
      count: rankable(ranked),
      of: 'users',
      sentence: (count) => `${counted(count, 'user')} would enter the leaderboard${limited(count)}.`,
      what: 'users who would enter the leaderboard',
    },
  ];
}

/** Null without streaks, where none has a length. */
function rankedOf(board: Leaderboard, { streaks }: ConfigDocument, numbers: Numbers): Ranked | null {
  const no = (id: string): number => mustGet(numbers, id, 'object');
  const breakdown = board.breakdownAttributes.map(no);
  switch (board.rankBy) {
    case 'metric':
      return { by: { metric: no(board.metricId) }, breakdown };
    case 'points':
      return { by: { system: no(board.pointsSystemId) }, breakdown };
    case 'streak':
      return streaks.enabled ? { by: { streak: streaks.frequency }, breakdown } : null;
  }
}

const currentRun = (board: Leaderboard, today: string): RunOfBoard => ({
  board: board.no,
  run: board.runUnit === null ? perpetualRun : runOf(board, dateToDay(today)),
});

function limitQuestions(was: Leaderboard, is: Leaderboard, today: string): Question[] {
  const [before, after] = [was.maxParticipants, is.maxParticipants];
  if (before === after) return [];
  const what = after < before ? 'participants who would leave the leaderboard' : 'users who would become participants';
  return [
    {
      subject: subjectOf('leaderboard', is),
      count: ranksBetween(currentRun(is, today), Math.min(before, after), Math.max(before, after)),
      of: 'users',
      sentence: (count) =>
        after < before
          ? `${counted(count, 'participant')} would leave the leaderboard.`
          : `${counted(count, 'user')} would become participants.`,
      what,
    },
  ];
}

const closing = (was: Leaderboard, is: Leaderboard, today: string): Question => ({
  subject: subjectOf('leaderboard', is),
  count: ranksBetween(currentRun(was, today), 0, was.maxParticipants),
  of: 'users',
  sentence: (count) => `The leaderboard would ${is.archived ? 'no longer be shown to' : 'end with'} ${counted(count, 'participant')}.`,
  what: 'participants of the leaderboard',
});
