/** Who saved a version of a configuration. */
export interface Author {
  /** `key`: a request with an admin key. `command`: a command of the operator. `start`: the start of the service. */
  readonly kind: 'key' | 'command' | 'start';
  /** The name of the key when it saved the version, the command, or what the start applied. */
  readonly name: string;
  /** Of a key, also of one that is deleted since; null for the others. */
  readonly keyId: string | null;
  readonly prefix: string | null;
}

/** `laurel apply`. Without the name of the operating system's user, which is personal data. */
export const commandAuthor: Author = { kind: 'command', name: 'laurel apply', keyId: null, prefix: null };

/** A start of the service that applies a file. */
export const startAuthor = (name: 'CONFIG' | 'sample configuration'): Author => ({ kind: 'start', name, keyId: null, prefix: null });

/** A request with an admin key. */
export const keyAuthor = ({ id, name, prefix }: { readonly id: string; readonly name: string; readonly prefix: string }): Author => ({
  kind: 'key',
  name,
  keyId: id,
  prefix,
});
