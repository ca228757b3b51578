import './templates.css';
import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { FieldControl } from '../../editor/forms/controls.js';
import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { changeOf } from '../../editor/draft/draft-changes.js';
import { Changeable, ObjectForm } from '../../editor/forms/form.js';
import { isKeyedList, type JsonObject, type Keyed, type Path, textOf, valueAt } from '../../editor/file/json.js';
import { DraftBadge, nameOf } from '../../editor/forms/draft-list.js';
import { partText } from '../../editor/forms/parts.js';
import { ProblemNote } from '../../editor/forms/problem-note.js';
import { RemoveDialog } from '../../editor/forms/remove-dialog.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty } from '../../ui/states.js';
import { Preview } from './preview.js';
import { Variables } from './variables.js';
import { type ControlProps, useValue } from '../../editor/forms/use-value.js';

/** A text that a message can go without: an empty one leaves the part out, none falls back. */
function PartialText(props: ControlProps) {
  const { value, change } = useValue(props);
  const isLeftOut = value === '';
  return (
    <div>
      {!isLeftOut && <FieldControl {...props} />}
      {isLeftOut && <strong>{props.field.text.label}</strong>}
      <label class="leave-out">
        <input type="checkbox" checked={isLeftOut} onChange={(event) => change(event.currentTarget.checked ? '' : undefined)} />{' '}
        <span>Leave the {props.field.text.label.toLowerCase()} out of the email</span>
      </label>
    </div>
  );
}

/** A template: its texts, their variables, and how a message looks to a user. */
export default function TemplateScreen({ template = '' }: { readonly template?: string }) {
  return (
    <Configuring>
      <Template key={template} templateKey={template} />
    </Configuring>
  );
}

function Template({ templateKey }: { readonly templateKey: string }) {
  const { href } = useScope();
  const { file, schema: fileSchema } = useDraft();
  const list = valueAt(file, ['templates']) ?? [];
  const at = isKeyedList(list) ? list.findIndex(({ key }) => key === templateKey) : -1;
  const template = isKeyedList(list) ? list[at] : undefined;
  const part = fileSchema.part('templates');
  const schema = part && fileSchema.items(part);
  if (!template || !schema) {
    return (
      <Page title="Not found">
        <Empty>
          The draft has no template with this key. <a href={href('/templates')}>Show all templates</a>.
        </Empty>
      </Page>
    );
  }
  return <TemplateEditor template={template} path={['templates', at]} schema={schema} />;
}

/** The fields that say what a template is for; the others are texts. */
const about = ['name', 'type', 'locale'];
/** Texts whose empty value leaves a part out of the message. */
const partial = ['heading', 'button'];

interface TemplateEditorProps {
  readonly template: Keyed;
  readonly path: Path;
  readonly schema: JsonObject;
}

function TemplateEditor({ template, path, schema }: TemplateEditorProps) {
  const { href } = useScope();
  const { changes, schema: fileSchema } = useDraft();
  const { route } = useLocation();
  const [isRemoving, setIsRemoving] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  const text = partText('templates');
  const texts = fileSchema.fields(schema, text.fields).filter(({ name }) => !about.includes(name));
  return (
    <Page
      title={nameOf(template)}
      about={
        <>
          <a href={href('/templates')}>Message templates</a> · <code>{template.key}</code>{' '}
          <DraftBadge change={changeOf(changes, 'templates', [template.key])} />
        </>
      }
      actions={
        <ChangeButton kind="danger" onClick={() => setIsRemoving(true)}>
          Remove template
        </ChangeButton>
      }
    >
      <ProblemNote path={path} isOwn />
      <div class="columns template">
        <div class="stack" ref={form}>
          <Panel title="Used for">
            <ObjectForm schema={schema} texts={text.fields} path={path} without={texts.map(({ name }) => name)} />
          </Panel>
          <Panel title="Texts">
            <p class="about">Written in Liquid. An empty field falls back to a more general locale, and then to the built-in text.</p>
            <Changeable>
              {texts.map((field) =>
                partial.includes(field.name) ? (
                  <PartialText key={field.name} field={field} path={[...path, field.name]} />
                ) : (
                  <FieldControl key={field.name} field={field} path={[...path, field.name]} />
                ),
              )}
            </Changeable>
          </Panel>
          <Variables type={textOf(template['type'])} form={form} />
        </div>
        <Preview template={template} />
      </div>
      {isRemoving && (
        <RemoveDialog
          path={path}
          object={template}
          singular="template"
          onRemoved={() => route(href('/templates'))}
          onClose={() => setIsRemoving(false)}
        />
      )}
    </Page>
  );
}
