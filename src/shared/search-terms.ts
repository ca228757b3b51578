/** The terms by which users are found (docs/rules/users.md, the list of users), independent of the locale of Postgres. */

/** A lexeme of Postgres has at most 2,046 bytes. */
const maxTermLength = 250;
const words = /[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]+/gu;

/** A final sigma is lower case for the last letter of a text, which the beginning of a word may end with too. */
const fold = (text: string): string => text.normalize('NFKC').toLowerCase().replaceAll('ς', 'σ').normalize('NFKC');

const cut = (text: string): string => Array.from(text).slice(0, maxTermLength).join('');

/** The words of a name, or of a text that is searched for: runs of letters, digits and marks, and runs of other characters. */
export const wordsOf = (text: string): string[] => [...new Set(fold(text).match(words)?.map(cut) ?? [])];

/** An address as a term: no word begins with a space. */
export const addressTerm = (email: string): string => ` ${cut(fold(email).replace(/\s+/g, ' '))}`;

/** The terms of a user, a line each; null for none. */
export function searchTerms(name: string | undefined, email: string | undefined): string | null {
  const terms = [...wordsOf(name ?? ''), ...(email ? [addressTerm(email)] : [])];
  return terms.length > 0 ? terms.join('\n') : null;
}
