import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { DraftList } from '../../editor/forms/draft-list.js';
import { partText } from '../../editor/forms/parts.js';
import { ProblemNote } from '../../editor/forms/problem-note.js';
import { editorPath } from '../../editor/file/problems.js';
import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';

/** The templates of messages to users. */
export default function Templates() {
  return (
    <Configuring>
      <TemplateList />
    </Configuring>
  );
}

function TemplateList() {
  const { href } = useScope();
  const { schema: fileSchema } = useDraft();
  const part = fileSchema.part('templates');
  const schema = part && fileSchema.items(part);
  return (
    <Page
      title="Message templates"
      about="The texts of messages, one template for each type and locale. Every type has a built-in text in English for what templates leave out."
      actions={
        <a class="button" href={href('/configuration/messages')}>
          Brand and channels
        </a>
      }
    >
      <ProblemNote path={['templates']} isOwn />
      <Panel title="All templates">
        {schema && (
          <DraftList
            part="templates"
            list="templates"
            path={['templates']}
            within={[]}
            text={partText('templates')}
            schema={schema}
            editor={(key) => editorPath('templates', key)}
          />
        )}
      </Panel>
    </Page>
  );
}
