import { useScope } from '../../scope/scope.js';
import type { Problem } from '../file/api.js';
import type { JsonObject } from '../file/json.js';
import { editorOf } from '../file/problems.js';

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
