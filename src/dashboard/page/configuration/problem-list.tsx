import { useScope } from '../scope.js';
import type { Problem } from './api.js';
import type { JsonObject } from './json.js';
import { editorOf } from './problems.js';

/** Problems of a draft, each with a link to the editor of its value. */
export function ProblemList({ problems, file }: { readonly problems: readonly Problem[]; readonly file: JsonObject }) {
  const { href } = useScope();
  return (
    <ul class="problems">
      {problems.map(({ message, path }) => {
        const editor = path ? editorOf(file, path) : undefined;
        return (
          <li key={`${JSON.stringify(path)} ${message}`}>
            {message} {editor !== undefined && <a href={href(editor)}>Edit</a>}
          </li>
        );
      })}
    </ul>
  );
}
