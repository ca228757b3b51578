/** A version of the configuration, as the Admin API responds with it. */
export interface Version {
  readonly version: number;
  readonly created: string | null;
  readonly author: { readonly kind: string; readonly name: string; readonly keyId: string | null; readonly prefix: string | null } | null;
  readonly lines: readonly string[];
  readonly file: object;
}
