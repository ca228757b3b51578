import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { OperatorError } from '../shared/errors.js';
import { redisProblems, sentenceOf, type StoreProblem } from '../shared/store-problems.js';
import { tlsFailure } from '../shared/tls-failure.js';

/** PEM files, or null: the CA of the server's certificate, and the client certificate and its key. */
export interface TlsFiles {
  readonly caFile?: string | null;
  readonly certFile?: string | null;
  readonly keyFile?: string | null;
}

const variables = { caFile: 'REDIS_CA_FILE', certFile: 'REDIS_CERT_FILE', keyFile: 'REDIS_KEY_FILE' } as const;

function read(files: TlsFiles, name: keyof TlsFiles): string | undefined {
  const file = files[name] ?? undefined;
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatorError(sentenceOf(redisProblems.fileUnreadable, `${variables[name]}: ${(error as Error).message}`), { cause: error });
  }
}

/** Runs something that throws for an invalid file; the error contains nothing of the file. */
function tried(attempt: () => unknown, problem: StoreProblem): void {
  try {
    attempt();
  } catch (error) {
    throw new OperatorError(sentenceOf(problem), { cause: error });
  }
}

/** The TLS options for a server, with its name if it has one. Throws an OperatorError for unusable files. */
export function tlsOptions(files: TlsFiles, host: string | undefined): ConnectionOptions {
  const [ca, cert, key] = [read(files, 'caFile'), read(files, 'certFile'), read(files, 'keyFile')];
  // Node accepts a text without any certificate as an empty list of CAs.
  if (ca !== undefined) tried(() => new X509Certificate(ca), redisProblems.noCaCertificate);
  if ((cert === undefined) !== (key === undefined)) throw new OperatorError(sentenceOf(redisProblems.halfCertificate));
  if (cert !== undefined && key !== undefined) tried(() => createSecureContext({ cert, key }), redisProblems.otherKey);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert, key }),
    // The name that the certificate must match. Node accepts no IP address here.
    ...(host === undefined || /^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    // Even if NODE_TLS_REJECT_UNAUTHORIZED disables the checks of the process.
    rejectUnauthorized: true,
  };
}

/** Refuses TLS files for an address without TLS: the operator who set them relies on TLS. */
export function expectNoTls(files: TlsFiles): void {
  for (const [name, variable] of Object.entries(variables)) {
    if ((files[name as keyof TlsFiles] ?? null) === null) continue;
    throw new OperatorError(sentenceOf(redisProblems.filesWithoutTls, variable));
  }
}

/** The sentence for the operator about a connection that failed on TLS; undefined for another failure. */
export function tlsProblem(error: unknown): string | undefined {
  const failure = tlsFailure(error);
  return failure && sentenceOf(redisProblems[failure.kind], failure.detail);
}
