import { useQuery } from '@tanstack/preact-query';
import { AuthorName } from '../../editor/changes/by-line.js';
import { ConfigurationFrame } from '../../editor/draft/frame.js';
import { Lines } from '../../editor/changes/lines.js';
import { useScope } from '../../scope/scope.js';
import { Moment } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { useAddress } from '../../scope/use-address.js';

/** Lines of a version that the list shows. */
const shownLines = 4;

/** The versions of the configuration: who changed what, and when. */
export default function Versions() {
  const { api, href } = useScope();
  const paging = usePaging(useAddress());
  const read = useQuery(api.admin.query('/configuration/versions', { params: { query: paging.range } }));
  return (
    <ConfigurationFrame>
      <Page title="Versions" about="Each change of the configuration is a version. You can compare versions, and go back to one.">
        <Panel title="All versions">
          <PagedTable
            of={read}
            paging={paging}
            caption="Versions of the configuration"
            keyOf={({ version }) => String(version)}
            empty={
              <>
                There is no version yet. <a href={href('/configuration')}>Change the configuration</a> to make the first one.
              </>
            }
            columns={[
              { title: 'Version', cell: ({ version }) => <a href={href(`/versions/${version}`)}>{version}</a> },
              { title: 'Created', cell: ({ created }) => <Moment at={created} /> },
              { title: 'By', cell: ({ author }) => <AuthorName author={author} /> },
              {
                title: 'Changes',
                cell: ({ lines, changes }) => (
                  <Lines lines={lines.slice(0, shownLines)} more={changes - Math.min(lines.length, shownLines)} />
                ),
              },
            ]}
          />
        </Panel>
      </Page>
    </ConfigurationFrame>
  );
}
