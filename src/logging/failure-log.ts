import type { Logger } from 'pino';
import { LaurelError } from '../shared/errors.js';
import { redisFailure } from '../redis/failure.js';

const codes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** SQLSTATE: connections that broke, too many of them, a server that stops or starts. */
const states = /^(?:08...|53300|57P0.)$/;
/** What ioredis, pg and pg-pool say without a code. */
const messages =
  /^(?:Connection is closed|Connection terminated|Client has encountered a connection error|Command timed out|Query read timeout|Socket timeout|Stream isn't writeable|timeout exceeded when trying to connect|No node of the cluster answers)/;

/** Whether something failed because a store does not serve this process, which StoreWatch logs. */
export function isStoreTrouble(error: unknown): boolean {
  if (error instanceof LaurelError) return /^(?:redis|postgres)_/.test(error.reason);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  if (codes.has(code) || states.test(code) || messages.test(error.message)) return true;
  return (error.name === 'ReplyError' && redisFailure(error) !== error) || isStoreTrouble(error.cause);
}

interface Episode {
  readonly failures: number;
  /** Whether its beginning was logged above `debug`. */
  readonly isLogged: boolean;
}

export interface FailureMessages {
  readonly failed: string;
  readonly over: string;
  readonly level: 'warn' | 'error';
}

/** Logs work that keeps failing once when that begins and once when it is over. What a store causes is logged at `debug`: StoreWatch tells of it. */
export class FailureLog {
  private readonly log: Logger;
  private readonly words: FailureMessages;
  private readonly running = new Map<number, Episode>();

  constructor(log: Logger, words: FailureMessages) {
    this.log = log;
    this.words = words;
  }

  /** Work has failed; `about` tells it from other work, like the number of a tenant. */
  failed(about: number, error: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
    const { failures, isLogged } = this.running.get(about) ?? { failures: 0, isLogged: false };
    const tells = !isLogged && !isStoreTrouble(error);
    this.running.set(about, { failures: failures + 1, isLogged: isLogged || tells });
    this.log[tells ? this.words.level : 'debug']({ err: error, ...fields }, this.words.failed);
  }

  /** Work has been done. */
  succeeded(about: number, fields: Readonly<Record<string, unknown>> = {}): void {
    const episode = this.running.get(about);
    if (!episode) return;
    this.running.delete(about);
    this.log[episode.isLogged ? 'info' : 'debug']({ failures: episode.failures, ...fields }, this.words.over);
  }
}
