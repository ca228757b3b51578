const maxKeyChars = 255;

/** A key made from a name, such as `flashcards-viewed`, that is not `taken`; empty for a name without letters or digits. */
export function suggestKey(name: string, taken: readonly string[]): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, maxKeyChars);
  if (plain === '' || !taken.includes(plain)) return plain;
  const free = taken.map((_key, at) => `${plain}-${at + 2}`).find((key) => !taken.includes(key));
  return free ?? `${plain}-${taken.length + 2}`;
}

/** What is wrong with a key; undefined for one that can be used. */
export function keyProblem(key: string): string | undefined {
  if (key === '') return 'A key is required.';
  if (!/^[a-zA-Z\d_-]+$/.test(key)) return 'A key has only letters, digits, - and _.';
  if (key === '__proto__') return 'A key can’t be __proto__.';
  return key.length > maxKeyChars ? `A key has at most ${maxKeyChars} characters.` : undefined;
}
