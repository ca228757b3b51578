import { given } from '../../api/given.js';
import type { components } from '../../api/schema/application.js';

export type Board = components['schemas']['Leaderboard'];

/** A run of a leaderboard, and a group of one with breakdown. */
export interface Part {
  readonly board: Board;
  /** A date of the run; the current run without it. */
  readonly run: string | undefined;
  /** As `userAttributes` has it. */
  readonly group: string | undefined;
}

/** The parameters that name a part in a read of its rankings. */
export const partQuery = ({ run, group }: Part) => given({ run, userAttributes: group });
