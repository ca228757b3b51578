import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { changeOf } from '../../editor/draft/draft-changes.js';
import { ObjectForm } from '../../editor/forms/form.js';
import { identityOf, isKeyedList, type JsonObject, type Keyed, type Path, valueAt } from '../../editor/file/json.js';
import { LevelsTable } from '../../editor/forms/levels-table.js';
import { DraftBadge, nameOf, DraftList } from '../../editor/forms/draft-list.js';
import { innerPartText, partText } from '../../editor/forms/parts.js';
import { editorPath } from '../../editor/file/problems.js';
import { ProblemNote } from '../../editor/forms/problem-note.js';
import { RemoveDialog } from '../../editor/forms/remove-dialog.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';

interface Place {
  readonly part?: string | undefined;
  /** The identity of the object: its key, and for attributes the type before it. */
  readonly object?: string | undefined;
  /** The list inside it, and the key of an object of that. */
  readonly list?: string | undefined;
  readonly inner?: string | undefined;
}

/** The editor of an object, or of one inside it. */
export default function ConfigurationObject({ part, object, list, inner }: Place) {
  return (
    <Configuring>
      <Editor key={JSON.stringify([part, object, list, inner])} part={part} object={object} list={list} inner={inner} />
    </Configuring>
  );
}

/** The place of the object with an identity; that of an attribute may be its key alone. */
function indexOf(objects: readonly Keyed[], list: string, identity: string): number {
  const exact = objects.findIndex((object) => identityOf(list, object) === identity);
  return exact >= 0 ? exact : objects.findIndex((object) => object.key === identity);
}

function Editor({ part = '', object: identity = '', list, inner }: Place) {
  const { file, schema: fileSchema } = useDraft();
  const { href } = useScope();
  const objects = valueAt(file, [part]) ?? [];
  const at = isKeyedList(objects) ? indexOf(objects, part, identity) : -1;
  const owner = isKeyedList(objects) ? objects[at] : undefined;
  const partSchema = fileSchema.part(part);
  const schema = partSchema && fileSchema.items(partSchema);
  const items = owner && list !== undefined ? (valueAt(owner, [list]) ?? []) : [];
  const innerAt = list !== undefined && inner !== undefined && isKeyedList(items) ? indexOf(items, list, inner) : -1;
  const innerSchema = schema && list !== undefined ? fileSchema.inner(schema, list) : undefined;
  const own = owner && identityOf(part, owner);
  if (!owner || !schema || own === undefined || (list !== undefined && (innerAt < 0 || !innerSchema))) {
    return (
      <Page title="Not found">
        <Empty>
          The draft has no object with this key.{' '}
          <a href={href(`/configuration/${encodeURIComponent(part)}`)}>Show all {partText(part).title.toLowerCase()}</a>.
        </Empty>
      </Page>
    );
  }
  if (list === undefined || !innerSchema) return <OwnEditor part={part} owner={owner} path={[part, at]} schema={schema} />;
  return <InnerEditor part={part} owner={owner} list={list} schema={innerSchema} path={[part, at, list, innerAt]} />;
}

interface EditorProps {
  readonly part: string;
  /** The object of the part. */
  readonly owner: Keyed;
  /** Of what is edited, in the file. */
  readonly path: Path;
  readonly schema: JsonObject;
}

function OwnEditor({ part, owner, path, schema }: EditorProps) {
  const { href } = useScope();
  const { changes, schema: fileSchema } = useDraft();
  const [removing, setRemoving] = useState<{ readonly path: Path; readonly object: Keyed; readonly singular: string }>();
  const { route } = useLocation();
  const text = partText(part);
  const identity = identityOf(part, owner);
  const lists = fileSchema.innerLists(schema);
  const leave = (): void => {
    const removed = removing;
    setRemoving(undefined);
    if (removed?.path.length === path.length) route(href(`/configuration/${encodeURIComponent(part)}`));
  };
  return (
    <Page
      title={nameOf(owner)}
      about={
        <>
          <a href={href(`/configuration/${encodeURIComponent(part)}`)}>{text.title}</a> · <code>{owner.key}</code>{' '}
          <DraftBadge change={changeOf(changes, part, [identity])} />
        </>
      }
      actions={
        <>
          {text.usage && (
            <a class="button" href={href(text.usage(owner.key))}>
              Show usage
            </a>
          )}
          <ChangeButton kind="danger" onClick={() => setRemoving({ path, object: owner, singular: text.singular })}>
            Remove {text.singular}
          </ChangeButton>
        </>
      }
    >
      <ProblemNote path={path} isOwn />
      <Panel title="Fields">
        <ObjectForm schema={schema} texts={text.fields} path={path} />
      </Panel>
      {lists.map((list) => (
        <InnerList
          key={list}
          part={part}
          owner={owner}
          path={path}
          schema={schema}
          list={list}
          onRemoveLevel={(at, object) => setRemoving({ path: at, object, singular: 'level' })}
        />
      ))}
      {removing && <RemoveDialog {...removing} onRemoved={leave} onClose={() => setRemoving(undefined)} />}
    </Page>
  );
}

interface InnerListProps extends EditorProps {
  readonly list: string;
  readonly onRemoveLevel: (path: Path, level: Keyed) => void;
}

function InnerList({ part, owner, path, schema, list, onRemoveLevel }: InnerListProps) {
  const { schema: fileSchema } = useDraft();
  const text = innerPartText(list);
  const innerSchema = fileSchema.inner(schema, list);
  if (!innerSchema) return null;
  const identity = identityOf(part, owner);
  return (
    <Panel title={text.title}>
      <p class="about">{text.about}</p>
      {list === 'levels' ? (
        <LevelsTable path={[...path, list]} schema={innerSchema} onRemove={onRemoveLevel} />
      ) : (
        <DraftList
          part={part}
          list={list}
          text={text}
          schema={innerSchema}
          path={[...path, list]}
          within={[identity, list]}
          editor={(inner) => `${editorPath(part, identity)}/${encodeURIComponent(list)}/${encodeURIComponent(inner)}`}
        />
      )}
    </Panel>
  );
}

function InnerEditor({ part, owner, list, path, schema }: EditorProps & { readonly list: string }) {
  const { href } = useScope();
  const { file, changes } = useDraft();
  const { route } = useLocation();
  const [isRemoving, setIsRemoving] = useState(false);
  const text = innerPartText(list);
  const object = valueAt(file, path) as Keyed;
  const identity = identityOf(part, owner);
  const back = href(editorPath(part, identity));
  return (
    <Page
      title={nameOf(object)}
      about={
        <>
          <a href={href(`/configuration/${encodeURIComponent(part)}`)}>{partText(part).title}</a> · <a href={back}>{nameOf(owner)}</a> ·{' '}
          {text.singular} <code>{object.key}</code> <DraftBadge change={changeOf(changes, part, [identity, list, object.key])} />
        </>
      }
      actions={
        <ChangeButton kind="danger" onClick={() => setIsRemoving(true)}>
          Remove {text.singular}
        </ChangeButton>
      }
    >
      <ProblemNote path={path} isOwn />
      <Panel title="Fields">
        <ObjectForm schema={schema} texts={text.fields} path={path} />
      </Panel>
      {isRemoving && (
        <RemoveDialog
          path={path}
          object={object}
          singular={text.singular}
          onRemoved={() => route(back)}
          onClose={() => setIsRemoving(false)}
        />
      )}
    </Page>
  );
}
