import { useRead, useAction } from '../api/use-read.js';
import { useScope } from '../scope.js';
import { Page, Panel } from '../ui/page.js';
import { ErrorNote, Loaded } from '../ui/states.js';
import { type Configuration, dataOf, type Version } from './api.js';
import { ByLine } from './by-line.js';
import type { StoredDraft } from './draft-storage.js';
import type { JsonObject } from './json.js';
import { mergeFiles } from './merge.js';
import { Lines } from './lines.js';

interface StaleDraftProps {
  readonly draft: StoredDraft;
  readonly current: Configuration;
  readonly onMerged: (file: JsonObject) => void;
  readonly onDiscard: () => void;
}

/** Another operator changed the configuration since the draft was made: shows how, and puts the draft on top of it. */
export function StaleDraft({ draft, current, onMerged, onDiscard }: StaleDraftProps) {
  const { api } = useScope();
  const versionOf = async (version: number, against?: number): Promise<Version> => {
    const params = { path: { version }, query: against === undefined ? {} : { against } };
    return dataOf(await api.admin.GET('/configuration/versions/{version}', { params })) as Version;
  };
  const read = useRead(async () => ({ data: await versionOf(current.version, draft.version) }), [api, current.version, draft.version]);
  const merge = useAction(async () => {
    const base = await versionOf(draft.version);
    onMerged(mergeFiles({ base: base.file, mine: draft.file, theirs: current.file }).file);
  });
  return (
    <Page title="The configuration changed">
      <div class="note warning" role="alert">
        <span>
          Your unsaved changes start from version {draft.version}, but version {current.version} is active now. <ByLine of={current} />
        </span>
      </div>
      <Panel title={`Changes from version ${draft.version} to ${current.version}`}>
        <Loaded of={read}>{({ lines }) => <Lines lines={lines} />}</Loaded>
      </Panel>
      {merge.error !== undefined && <ErrorNote error={merge.error} />}
      <p>Where both changed the same field, your value is kept. You review all changes before they are applied.</p>
      <div class="actions">
        <button type="button" class="primary" disabled={merge.isRunning} onClick={() => void merge.run()}>
          Keep my changes on top of version {current.version}
        </button>
        <button type="button" class="danger" onClick={onDiscard}>
          Discard my changes
        </button>
      </div>
    </Page>
  );
}
