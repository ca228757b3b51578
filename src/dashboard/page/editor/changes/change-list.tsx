import { useScope } from '../../scope/scope.js';
import { Badge } from '../../ui/badge.js';
import { Empty } from '../../ui/states.js';
import type { Change, Effect } from '../file/api.js';
import { actionWords, editorOfChange, nameOfChange, shownValue } from './change-texts.js';

const tones = { add: 'good', revive: 'good', change: 'neutral', archive: 'bad' } as const;

/** The changes, one block for each object, with what each field was and becomes. */
export function ChangeList({ changes }: { readonly changes: readonly Change[] }) {
  if (changes.length === 0) return <Empty>No object differs.</Empty>;
  return (
    <ul class="changes">
      {changes.map((change) => (
        <li key={nameOfChange(change)}>
          <ChangedObject change={change} />
        </li>
      ))}
    </ul>
  );
}

function ChangedObject({ change }: { readonly change: Change }) {
  const { href } = useScope();
  const editor = change.action === 'archive' ? undefined : editorOfChange(change);
  return (
    <>
      <h3>
        {editor === undefined ? nameOfChange(change) : <a href={href(editor)}>{nameOfChange(change)}</a>}{' '}
        <Badge tone={tones[change.action]}>{actionWords[change.action]}</Badge>
      </h3>
      {change.fields.length > 0 && (
        <dl class="fields">
          {change.fields.map(({ field, from, to }) => (
            <div key={field}>
              <dt>
                <code>{field}</code>
              </dt>
              <dd>
                <del>{shownValue(from)}</del> <span aria-hidden="true">→</span> <ins>{shownValue(to)}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

/** What the changes do to users. */
export function EffectList({ effects }: { readonly effects: readonly Effect[] }) {
  const { href } = useScope();
  if (effects.length === 0) return <Empty>No effect on users that can be counted.</Empty>;
  return (
    <ul class="effects">
      {effects.map((effect) => {
        const editor = editorOfChange(effect);
        return (
          <li key={`${nameOfChange(effect)} ${effect.sentence}`}>
            {effect.sentence}{' '}
            <span class="about">{editor === undefined ? nameOfChange(effect) : <a href={href(editor)}>{nameOfChange(effect)}</a>}</span>
          </li>
        );
      })}
    </ul>
  );
}
