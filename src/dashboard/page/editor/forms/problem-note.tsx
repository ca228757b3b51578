import { useDraft } from '../draft/draft.js';
import type { Path } from '../file/json.js';
import { problemAt } from '../file/problems.js';

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
