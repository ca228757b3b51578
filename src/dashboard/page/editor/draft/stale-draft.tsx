import { useMutation, useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../api/errors.js';
import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { ErrorNote, Loaded } from '../../ui/states.js';
import { type Configuration, fileOf } from '../file/api.js';
import { ByLine } from '../changes/by-line.js';
import type { StoredDraft } from './draft-storage.js';
import type { JsonObject } from '../file/json.js';
import { mergeFiles } from '../file/merge.js';
import { Lines } from '../changes/lines.js';

interface StaleDraftProps {
  readonly draft: StoredDraft;
  readonly current: Configuration;
  readonly onMerged: (file: JsonObject) => void;
  readonly onDiscard: () => void;
}

/** Another operator changed the configuration since the draft was made: shows how, and puts the draft on top of it. */
export function StaleDraft({ draft, current, onMerged, onDiscard }: StaleDraftProps) {
  const { api } = useScope();
  const versions = '/configuration/versions/{version}';
  const params = { path: { version: current.version }, query: { against: draft.version } };
  const read = useQuery(api.admin.query(versions, { params }));
  const merge = useMutation({
    mutationFn: async () => dataOf(await api.admin.GET(versions, { params: { path: { version: draft.version } } })),
    onSuccess: (base) => onMerged(mergeFiles({ base: fileOf(base), mine: draft.file, theirs: fileOf(current) }).file),
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
      {merge.error && <ErrorNote error={merge.error} />}
      <p>Where both changed the same field, your value is kept. You review all changes before they are applied.</p>
      <div class="actions">
        <button type="button" class="primary" disabled={merge.isPending} onClick={() => merge.mutate()}>
          Keep my changes on top of version {current.version}
        </button>
        <button type="button" class="danger" onClick={onDiscard}>
          Discard my changes
        </button>
      </div>
    </Page>
  );
}
