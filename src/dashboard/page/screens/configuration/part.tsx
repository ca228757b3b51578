import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { ObjectForm } from '../../editor/forms/form.js';
import { DraftList } from '../../editor/forms/draft-list.js';
import { partText } from '../../editor/forms/parts.js';
import { editorPath } from '../../editor/file/problems.js';
import { ProblemNote } from '../../editor/forms/problem-note.js';
import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';

/** A part of the configuration: the list of its objects, or the form of one that there is only one of. */
export default function ConfigurationPart({ part = '' }: { readonly part?: string }) {
  return (
    <Configuring>
      <Part key={part} part={part} />
    </Configuring>
  );
}

function Part({ part }: { readonly part: string }) {
  const { href } = useScope();
  const { schema: fileSchema } = useDraft();
  const text = partText(part);
  const schema = fileSchema.part(part);
  const items = schema && fileSchema.items(schema);
  if (!schema) {
    return (
      <Page title="Not found">
        <Empty>
          The configuration has no part of this name. <a href={href('/configuration')}>Show all parts</a>.
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title={text.title}
      about={
        <>
          <a href={href('/configuration')}>Configuration</a> · {text.about}
        </>
      }
    >
      <ProblemNote path={[part]} isOwn />
      <Panel title={items ? `All ${text.title.toLowerCase()}` : 'Fields'}>
        {items ? (
          <DraftList
            part={part}
            text={text}
            list={part}
            path={[part]}
            within={[]}
            schema={items}
            editor={(identity) => editorPath(part, identity)}
          />
        ) : (
          <ObjectForm schema={schema} texts={text.fields} path={[part]} />
        )}
      </Panel>
    </Page>
  );
}
