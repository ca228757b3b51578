import { useMutation, useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, dataOf } from '../../api/errors.js';
import type { Applied, DryRun } from '../../editor/file/api.js';
import { ChangeList, EffectList } from '../../editor/changes/change-list.js';
import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { ProblemList } from '../../editor/changes/problem-list.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { formatCount } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { Empty, ErrorNote, Loaded } from '../../ui/states.js';

/** What the draft changes, before it is applied. */
export default function ConfigurationReview() {
  const [applied, setApplied] = useState<Applied>();
  return <Configuring>{applied ? <Done applied={applied} /> : <Review onApplied={setApplied} />}</Configuring>;
}

function Review({ onApplied }: { readonly onApplied: (applied: Applied) => void }) {
  const { href, api } = useScope();
  const { file, current, changes, setProblems, reload } = useDraft();
  const body = { file, prune: true, version: current.version };
  const dryRun = api.query(['dry run', body], async ({ signal }) =>
    dataOf(await api.admin.POST('/configuration/dry-run', { body, signal })),
  );
  // A review starts anew: the effects are those on the users of now.
  const read = useQuery({ ...dryRun, gcTime: 0 });
  const found = read.data?.problems;
  const newest = read.data?.version ?? current.version;
  useEffect(() => {
    if (newest !== current.version) reload();
  }, [newest]);
  useEffect(() => {
    if (found) setProblems(found);
  }, [found]);
  if (changes.length === 0) {
    return (
      <Page title="Review">
        <Empty>
          There is nothing to apply. <a href={href('/configuration')}>Change the configuration</a>, and review the changes here.
        </Empty>
      </Page>
    );
  }
  return (
    <Page title="Review" about="What applying the draft changes, and what that does to users. Nothing is changed yet.">
      <Loaded of={read}>{(outcome) => <Outcome dryRun={outcome} onApplied={onApplied} />}</Loaded>
    </Page>
  );
}

function Outcome({ dryRun, onApplied }: { readonly dryRun: DryRun; readonly onApplied: (applied: Applied) => void }) {
  const { api } = useScope();
  const { file, current, discard, reload } = useDraft();
  const apply = useMutation({
    mutationFn: async () => dataOf(await api.admin.POST('/configuration/apply', { body: { file, prune: true, version: current.version } })),
    onSuccess: (applied) => {
      onApplied(applied);
      discard();
      reload();
    },
  });
  if (dryRun.problems.length > 0) {
    return (
      <Panel title={`${formatCount(dryRun.problems.length, 'problem')} to solve first`}>
        <ProblemList problems={dryRun.problems} file={file} />
      </Panel>
    );
  }
  const isOutdated = apply.error instanceof ApiError && apply.error.status === 409;
  return (
    <>
      <div class="columns">
        <Panel title={formatCount(dryRun.changes.length, 'change')}>
          <ChangeList changes={dryRun.changes} />
        </Panel>
        <Panel title="Effects on users">
          <EffectList effects={dryRun.effects} />
        </Panel>
      </div>
      {apply.error && <ErrorNote error={apply.error} />}
      <div class="actions">
        {isOutdated ? (
          <button type="button" class="primary" onClick={reload}>
            Show what changed
          </button>
        ) : (
          <ChangeButton kind="primary" isDisabled={apply.isPending || dryRun.changes.length === 0} onClick={() => apply.mutate()}>
            {apply.isPending ? 'Applying' : `Apply ${formatCount(dryRun.changes.length, 'change')}`}
          </ChangeButton>
        )}
      </div>
    </>
  );
}

function Done({ applied }: { readonly applied: Applied }) {
  const { href } = useScope();
  return (
    <Page
      title="Applied"
      actions={
        <a class="button" href={href('/configuration')}>
          Back to the configuration
        </a>
      }
    >
      <div class="note good" role="status">
        <span>
          <a href={href(`/versions/${applied.version}`)}>Version {applied.version}</a> is active. It holds for the next event.
        </span>
      </div>
      <Panel title={formatCount(applied.changes.length, 'change')}>
        <ChangeList changes={applied.changes} />
      </Panel>
    </Page>
  );
}
