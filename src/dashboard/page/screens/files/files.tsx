import { useMutation, useQuery } from '@tanstack/preact-query';
import { useState, useRef } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import { ConfigurationFrame } from '../../editor/draft/frame.js';
import { useScope } from '../../scope/scope.js';
import { formatNumber, formatCount } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { saveFile } from '../../ui/save-file.js';
import { ErrorNote } from '../../ui/states.js';
import { useChange } from '../../api/use-change.js';
import type { DryRun, Problem } from '../../editor/file/api.js';
import { ChangeList, EffectList } from '../../editor/changes/change-list.js';
import { offsetOf } from '../../editor/file/text-position.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Field } from '../../ui/field.js';
import { useUnloadWarning } from '../../ui/unload-warning.js';

/** Checks a YAML file, shows what it would change, and applies it. */
function Import() {
  const { api, href } = useScope();
  const [text, setText] = useState('');
  const [prune, setPrune] = useState(false);
  const editor = useRef<HTMLTextAreaElement>(null);
  const check = useMutation({
    mutationFn: async () => dataOf(await api.admin.POST('/configuration/dry-run', { body: { file: text, prune } })),
  });
  const apply = useChange(
    async (version: number) => dataOf(await api.admin.POST('/configuration/apply', { body: { file: text, prune, version } })),
    () => check.reset(),
  );
  const { data: dryRun } = check;
  const { data: applied } = apply;
  useUnloadWarning(text !== '' && !applied);
  const change = (next: string): void => {
    setText(next);
    check.reset();
    apply.reset();
  };
  const show = ({ line, column }: Problem): void => {
    const area = editor.current;
    if (!area || line === null) return;
    const offset = offsetOf(text, line, column ?? 1);
    area.focus();
    area.setSelectionRange(offset, offset);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    apply.reset();
    check.mutate();
  };
  return (
    <Panel title="Import">
      <form onSubmit={submit}>
        <Field label="File">
          {({ id }) => (
            <input
              id={id}
              type="file"
              accept=".yaml,.yml,text/yaml"
              onChange={(event) => void event.currentTarget.files?.[0]?.text().then(change)}
            />
          )}
        </Field>
        <Field label="YAML" hint="Objects that the file leaves out are kept, unless you archive them below.">
          {({ id, describedBy }) => (
            <textarea
              ref={editor}
              id={id}
              class="code"
              rows={16}
              spellcheck={false}
              value={text}
              aria-describedby={describedBy}
              onInput={(event) => change(event.currentTarget.value)}
            />
          )}
        </Field>
        <label>
          <input
            type="checkbox"
            checked={prune}
            onChange={(event) => {
              setPrune(event.currentTarget.checked);
              check.reset();
            }}
          />{' '}
          <span>Archive what the file does not mention</span>
        </label>
        {check.error && <ErrorNote error={check.error} />}
        <div class="actions">
          <button type="submit" class={dryRun ? undefined : 'primary'} disabled={check.isPending || text.trim() === ''}>
            {check.isPending ? 'Checking' : 'Check the file'}
          </button>
        </div>
      </form>
      {dryRun && dryRun.problems.length > 0 && <Problems problems={dryRun.problems} onShow={show} />}
      {dryRun?.problems.length === 0 && (
        <>
          <Plan dryRun={dryRun} />
          {apply.error && <ErrorNote error={apply.error} />}
          <div class="actions">
            <ChangeButton
              kind="primary"
              isDisabled={apply.isPending || dryRun.changes.length === 0}
              onClick={() => apply.mutate(dryRun.version)}
            >
              {apply.isPending ? 'Applying' : `Apply ${formatCount(dryRun.changes.length, 'change')}`}
            </ChangeButton>
          </div>
        </>
      )}
      {applied && (
        <div class="note good" role="status">
          <span>
            <a href={href(`/versions/${applied.version}`)}>Version {applied.version}</a> is active, with{' '}
            {formatCount(applied.changes.length, 'change')}.
          </span>
        </div>
      )}
    </Panel>
  );
}

function Problems({ problems, onShow }: { readonly problems: readonly Problem[]; readonly onShow: (problem: Problem) => void }) {
  return (
    <>
      <h3>{formatCount(problems.length, 'problem')}: nothing can be applied yet</h3>
      <ul class="problems">
        {problems.map((problem) => (
          <li key={`${problem.line} ${problem.column} ${problem.message}`}>
            {problem.line !== null && (
              <button type="button" class="plain" onClick={() => onShow(problem)}>
                Line {problem.line}, column {problem.column}
              </button>
            )}{' '}
            {problem.message}
          </li>
        ))}
      </ul>
    </>
  );
}

function Plan({ dryRun: { changes, effects, kept } }: { readonly dryRun: DryRun }) {
  return (
    <div class="columns">
      <section>
        <h3>{formatCount(changes.length, 'change')}</h3>
        <ChangeList changes={changes} />
      </section>
      <section>
        <h3>Effects on users</h3>
        <EffectList effects={effects} />
        {kept.length > 0 && (
          <>
            <h3>Not in the file, kept</h3>
            <p>{kept.join(', ')}</p>
          </>
        )}
      </section>
    </div>
  );
}

/** The configuration as a YAML file. */
export default function Files() {
  return (
    <ConfigurationFrame>
      <Page
        title="Import and export"
        about="The configuration as a YAML file: for version control, for another installation, and for large changes."
      >
        <Export />
        <Import />
      </Page>
    </ConfigurationFrame>
  );
}

function Export() {
  const { api } = useScope();
  const current = useQuery(api.admin.query('/configuration'));
  const version = current.data?.version;
  const [size, setSize] = useState<number>();
  const download = useMutation({
    mutationFn: async () => dataOf(await api.admin.GET('/configuration/file', { parseAs: 'text' })),
    onSuccess: (text) => {
      const blob = new Blob([text], { type: 'text/yaml' });
      saveFile(blob, `laurel${version === undefined ? '' : `-${version}`}.yaml`);
      setSize(blob.size);
    },
  });
  return (
    <Panel title="Export">
      <p>
        The file has everything that is in use{version === undefined ? '' : ` in version ${version}`}, without the secrets of webhooks.{' '}
        <code>laurel apply</code> takes it, and so does the import below.
      </p>
      {download.error && <ErrorNote error={download.error} />}
      <div class="actions">
        <button type="button" disabled={download.isPending} onClick={() => download.mutate()}>
          Download YAML
        </button>
        {size !== undefined && <span role="status">Downloaded {formatNumber(size)} bytes.</span>}
      </div>
    </Panel>
  );
}
