import type { Logger } from 'pino';
import { LaurelError } from '../shared/errors.js';
import { redisFailure } from '../redis/failure.js';

const codes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** SQLSTATE: connections that broke, are refused, or too many of them, a server that stops or starts. */
const states = /^(?:08...|28...|3D000|53300|57P0.)$/;
/** Messages of ioredis, pg and pg-pool errors without a code. */
const messages =
  /^(?:Connection is closed|Connection terminated|Client has encountered a connection error|Command timed out|Query read timeout|Socket timeout|Stream isn't writeable|Reached the max retries per request limit|Command aborted due to connection close|All sentinels are unreachable|Failed to refresh slots cache|timeout exceeded when trying to connect|No node of the cluster responds)/;

/** Whether an error is caused by an unavailable store, which StoreWatch logs. */
export function isStoreTrouble(error: unknown): boolean {
  if (error instanceof LaurelError) return /^(?:redis|postgres)_|^out_of_sync$/.test(error.reason);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  if (codes.has(code) || states.test(code) || messages.test(error.message)) return true;
  return (error.name === 'ReplyError' && redisFailure(error) !== error) || isStoreTrouble(error.cause);
}

interface Episode {
  readonly failures: number;
  /** Whether its first failure was logged above `debug`. */
  readonly isLogged: boolean;
}

export interface FailureMessages {
  readonly failed: string;
  readonly recovered: string;
  readonly level: 'warn' | 'error';
}

/** Logs work that fails repeatedly once when it starts to fail and once when it recovers. Store errors are logged at `debug`: StoreWatch logs them. */
export class FailureLog {
  private readonly log: Logger;
  private readonly messages: FailureMessages;
  private readonly episodes = new Map<number, Episode>();

  constructor(log: Logger, words: FailureMessages) {
    this.log = log;
    this.messages = words;
  }

  /** Logs a failure of the work that `key` identifies, such as a tenant's number. */
  failed(key: number, error: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
    const { failures, isLogged } = this.episodes.get(key) ?? { failures: 0, isLogged: false };
    const isNew = !isLogged && !isStoreTrouble(error);
    this.episodes.set(key, { failures: failures + 1, isLogged: isLogged || isNew });
    this.log[isNew ? this.messages.level : 'debug']({ err: error, ...fields }, this.messages.failed);
  }

  /** Logs a recovery, if the work had failed. */
  succeeded(key: number, fields: Readonly<Record<string, unknown>> = {}): void {
    const episode = this.episodes.get(key);
    if (!episode) return;
    this.episodes.delete(key);
    this.log[episode.isLogged ? 'info' : 'debug']({ failures: episode.failures, ...fields }, this.messages.recovered);
  }
}
