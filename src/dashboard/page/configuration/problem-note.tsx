import { useDraft } from './draft.js';
import type { Path } from './json.js';
import { problemAt } from './problems.js';

/** What is wrong with an object, in the words of the service; `isOwn` leaves out what is inside it, which its fields show. */
export function ProblemNote({ path, isOwn = false }: { readonly path: Path; readonly isOwn?: boolean }) {
  const { problems } = useDraft();
  const problem = problemAt(problems, path, !isOwn);
  return problem === undefined ? null : (
    <div class="note error" role="alert">
      {problem}
    </div>
  );
}
