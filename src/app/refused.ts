import { refusedByPostgres } from '../postgres/failure.js';
import { refusedStart } from '../redis/failure.js';

/** Turns what a store refuses a start or a command into an OperatorError (shared/store-problems.ts). Other errors are returned unchanged. */
export const refusedByStore = (error: unknown): unknown => refusedByPostgres(refusedStart(error));
