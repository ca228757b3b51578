import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { OperatorError } from '../shared/errors.js';

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
    throw new OperatorError(`${variables[name]} names a file that can't be read: ${(error as Error).message}.`, { cause: error });
  }
}

/** Runs something that throws for an invalid file; the error contains nothing of the file. */
function tried(attempt: () => unknown, problem: string): void {
  try {
    attempt();
  } catch (error) {
    throw new OperatorError(problem, { cause: error });
  }
}

/** The TLS options for a server, with its name if it has one. Throws an OperatorError for unusable files. */
export function tlsOptions(files: TlsFiles, host: string | undefined): ConnectionOptions {
  const [ca, cert, key] = [read(files, 'caFile'), read(files, 'certFile'), read(files, 'keyFile')];
  // Node accepts a text without any certificate as an empty list of CAs.
  if (ca !== undefined) tried(() => new X509Certificate(ca), 'REDIS_CA_FILE names a file without a certificate in PEM.');
  if ((cert === undefined) !== (key === undefined)) {
    throw new OperatorError('REDIS_CERT_FILE and REDIS_KEY_FILE are a certificate and its key: set both, or none.');
  }
  if (cert !== undefined && key !== undefined) {
    const problem = 'REDIS_CERT_FILE and REDIS_KEY_FILE must be a certificate and its own key, both in PEM, the key without a passphrase.';
    tried(() => createSecureContext({ cert, key }), problem);
  }
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
    throw new OperatorError(`${variable} is for TLS, and REDIS_URL is without: let it begin with rediss, or unset ${variable}.`);
  }
}

/** Error codes of Node, of OpenSSL's certificate checks and of TLS alerts, with their meaning. */
const problems: readonly (readonly [codes: RegExp, problem: (reason: string) => string])[] = [
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    (reason) => `Redis shows a certificate for another name (${reason}). Let REDIS_URL name a host that the certificate is for.`,
  ],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    (reason) => `Redis shows a certificate that is not valid now (${reason}). Give it a new one, or set the clock of this machine.`,
  ],
  [
    /SIGNED_CERT|LEAF_SIGNATURE|ISSUER_CERT|^CERT_|^INVALID_CA$/,
    (reason) =>
      `Redis shows a certificate that no known authority has signed (${reason}). ` +
      'Set REDIS_CA_FILE to a file with the certificate of the authority that has.',
  ],
  [
    /^ERR_SSL_.*ALERT/,
    (reason) =>
      `Redis refuses to speak TLS with Laurel (${reason}). Where it asks for a certificate, ` +
      'set REDIS_CERT_FILE and REDIS_KEY_FILE to one that it trusts, and its key.',
  ],
];

/** The sentence for the operator about a connection that failed on TLS; undefined for another failure. */
export function tlsProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  if (typeof code !== 'string') return undefined;
  const found = problems.find(([codes]) => codes.test(code));
  // The rest of OpenSSL's message is a memory address, a file and a line.
  return found?.[1](typeof reason === 'string' ? reason.replace(/: $/, '') : error.message);
}
