import { Empty } from '../../ui/states.js';

const tones: Readonly<Record<string, string>> = { '+': 'added', '-': 'archived', '~': 'changed' };

/** The lines of a diff, as the service writes them: `+` adds, `~` changes, `-` archives. `more` are changes without a line. */
export function Lines({ lines, more = 0 }: { readonly lines: readonly string[]; readonly more?: number }) {
  if (lines.length === 0) return <Empty>No object differs.</Empty>;
  return (
    <ul class="diff-lines">
      {lines.map((line) => (
        <li key={line} class={tones[line.charAt(0)]}>
          <code>{line}</code>
        </li>
      ))}
      {more > 0 && <li class="none">and {more} more</li>}
    </ul>
  );
}
