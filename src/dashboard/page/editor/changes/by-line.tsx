import { useScope } from '../../scope/scope.js';
import { Moment } from '../../ui/format.js';
import type { Author, Configuration } from '../file/api.js';

/** Who made a version: the name of a key, or a command. */
export function AuthorName({ author }: { readonly author: Author | null }) {
  const { href } = useScope();
  if (!author) return <span class="none">unknown</span>;
  if (author.kind !== 'key') return <code>{author.name}</code>;
  return <a href={href('/keys')}>{author.name === '' ? (author.prefix ?? 'key') : author.name}</a>;
}

/** When and by whom a version was made. */
export function ByLine({ of: { created, author } }: { readonly of: Pick<Configuration, 'created' | 'author'> }) {
  if (created === null) return null;
  return (
    <span>
      Created <Moment at={created} /> by <AuthorName author={author} />.
    </span>
  );
}
