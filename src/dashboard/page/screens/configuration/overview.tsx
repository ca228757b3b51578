import { ByLine } from '../../editor/changes/by-line.js';
import { Configuring, useDraft } from '../../editor/draft/draft.js';
import { changeOf } from '../../editor/draft/draft-changes.js';
import { isList, valueAt } from '../../editor/file/json.js';
import { DraftBadge } from '../../editor/forms/draft-list.js';
import { parts, partText } from '../../editor/forms/parts.js';
import { useScope } from '../../scope/scope.js';
import { formatNumber } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { Table } from '../../ui/table.js';

/** Everything that can be configured. */
export default function ConfigurationOverview() {
  return (
    <Configuring>
      <Overview />
    </Configuring>
  );
}

function Overview() {
  const { href } = useScope();
  const { current, file, schema, changes } = useDraft();
  const names = [...Object.keys(parts), ...schema.partNames.filter((name) => !Object.hasOwn(parts, name))];
  const sizeOf = (name: string): string => {
    const value = valueAt(file, [name]);
    return isList(value) ? formatNumber(value.length) : '';
  };
  return (
    <Page
      title="Configuration"
      about={
        <>
          Version <a href={href(`/versions/${current.version}`)}>{current.version}</a> is active. <ByLine of={current} />
        </>
      }
      actions={
        <a class="button" href={href('/files')}>
          Import or export
        </a>
      }
    >
      <Panel title="Parts">
        <Table
          caption="Parts of the configuration"
          rows={names}
          keyOf={(name) => name}
          columns={[
            { title: 'Part', cell: (name) => <a href={href(`/configuration/${encodeURIComponent(name)}`)}>{partText(name).title}</a> },
            { title: 'Objects', isNumber: true, cell: sizeOf },
            { title: 'What it is', cell: (name) => partText(name).about },
            { title: 'Draft', cell: (name) => <DraftBadge change={changeOf(changes, name, []) && 'change'} /> },
          ]}
        />
      </Panel>
    </Page>
  );
}
