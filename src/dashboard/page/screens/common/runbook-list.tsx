/** The names of runbooks, which are files of the installation and not pages of the service. */
export function Runbooks({ names }: { readonly names: readonly string[] }) {
  return (
    <details class="hint">
      <summary>Runbooks</summary>
      In <code>docs/operations/runbooks.md</code>: {names.join(', ')}.
    </details>
  );
}
