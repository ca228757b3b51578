import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { readAfter } from '../../api/query-client.js';
import { fileOf, type Version } from '../../editor/file/api.js';
import { ByLine } from '../../editor/changes/by-line.js';
import { ChangeList } from '../../editor/changes/change-list.js';
import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { useScope } from '../../scope/scope.js';
import { Badge } from '../../ui/badge.js';
import { ChangeButton } from '../../ui/change-button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { SelectField } from '../../ui/field.js';
import { formatCount } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { Loaded } from '../../ui/states.js';
import { useAddress } from '../../scope/use-address.js';

/** A version: what it changed, how it differs from the active one, and going back to it. */
export default function VersionScreen({ version = '' }: { readonly version?: string }) {
  return (
    <Configuring>
      <Shown key={version} number={Number(version)} />
    </Configuring>
  );
}

function Shown({ number }: { readonly number: number }) {
  const { api, href } = useScope();
  const { current } = useDraft();
  const { query, change } = useAddress();
  const isWithCurrent = query['against'] === 'current';
  // The changes lead from the older to the newer one.
  const shown = isWithCurrent ? current.version : number;
  const against = isWithCurrent ? number : Math.max(0, number - 1);
  const versions = '/configuration/versions/{version}';
  const own = useQuery(api.admin.query(versions, { params: { path: { version: number } } }));
  const compared = useQuery(api.admin.query(versions, { params: { path: { version: shown }, query: { against } } }));
  const isActive = number === current.version;
  return (
    <Page
      title={`Version ${number}`}
      about={
        <>
          <a href={href('/versions')}>Versions</a> · {isActive && <Badge tone="good">active</Badge>} {own.data && <ByLine of={own.data} />}
        </>
      }
      actions={!isActive && own.data && <GoBack version={own.data} />}
    >
      <Loaded of={readAfter(compared, own)}>
        {({ changes }) => (
          <Panel title={`${formatCount(changes.length, 'change')} from version ${against} to ${shown}`}>
            {!isActive && (
              <SelectField
                label="Compare with"
                value={isWithCurrent ? 'current' : ''}
                options={[
                  { value: '', label: `The version before, ${number - 1}` },
                  { value: 'current', label: `The active version, ${current.version}` },
                ]}
                onChange={(value) => change({ against: value })}
              />
            )}
            <ChangeList changes={changes} />
          </Panel>
        )}
      </Loaded>
    </Page>
  );
}

/** Makes a version the draft, which is then reviewed and applied like any other. */
function GoBack({ version }: { readonly version: Version }) {
  const { href } = useScope();
  const { changes, replace } = useDraft();
  const { route } = useLocation();
  const [isAsking, setIsAsking] = useState(false);
  const go = (): void => {
    replace(fileOf(version));
    route(href('/configuration/review'));
  };
  return (
    <>
      <ChangeButton onClick={() => (changes.length > 0 ? setIsAsking(true) : go())}>Go back to this version</ChangeButton>
      {isAsking && (
        <ConfirmDialog
          title={`Go back to version ${version.version}`}
          confirm="Replace the draft"
          isDangerous
          isRunning={false}
          error={null}
          onConfirm={go}
          onClose={() => setIsAsking(false)}
        >
          <p>
            Version {version.version} replaces your draft: {formatCount(changes.length, 'unsaved change')} will be lost. You review what
            applying it changes before anything happens.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
