/** Files of credentials. Errors name the variable and the problem, and contain nothing of the file. */
import { type KeyObject, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperatorError } from '../../shared/errors.js';

/** Throws an OperatorError for a file that can't be read. */
export function readFile(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new OperatorError(`${variable} names a file that can't be read (${code}).`, { cause: error });
  }
}

/** A private key in PEM. Throws an OperatorError for anything else. */
export function readPrivateKey(variable: string, file: string): KeyObject {
  const text = readFile(variable, file);
  try {
    return createPrivateKey(text);
  } catch {
    throw new OperatorError(`${variable} must name a file with a private key in PEM, without a passphrase.`);
  }
}

/** Certificates in PEM. Throws an OperatorError for anything else. */
export function readCertificates(variable: string, file: string): string {
  const text = readFile(variable, file);
  try {
    // Node's TLS accepts a text without any certificate as an empty list.
    new X509Certificate(text);
  } catch {
    throw new OperatorError(`${variable} names a file without a certificate in PEM.`);
  }
  return text;
}
