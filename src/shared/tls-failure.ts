/** Why a TLS handshake failed. `refused`: the server sent an alert, such as for a missing client certificate. */
export type TlsFailureKind = 'certificateName' | 'certificateDates' | 'certificateUnsigned' | 'certificateRefused';

/** Error codes of Node, of OpenSSL's certificate checks and of TLS alerts. */
const kinds: readonly (readonly [codes: RegExp, kind: TlsFailureKind])[] = [
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'certificateName'],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, 'certificateDates'],
  [/SIGNED_CERT|LEAF_SIGNATURE|ISSUER_CERT|^CERT_|^INVALID_CA$/, 'certificateUnsigned'],
  [/^ERR_SSL_.*ALERT/, 'certificateRefused'],
];

/** The kind of a failed TLS handshake and what Node or OpenSSL says of it; undefined for another failure. */
export function tlsFailure(error: unknown): { readonly kind: TlsFailureKind; readonly detail: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  if (typeof code !== 'string') return undefined;
  const found = kinds.find(([codes]) => codes.test(code));
  // The rest of OpenSSL's message is a memory address, a file and a line.
  return found && { kind: found[1], detail: typeof reason === 'string' ? reason.replace(/: $/, '') : error.message };
}
