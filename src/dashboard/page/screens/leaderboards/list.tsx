import { useQuery } from '@tanstack/preact-query';
import { readAfter } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatDate } from '../../ui/format.js';
import { usePaging } from '../../ui/paged-table.js';
import { ConfiguredListPage } from '../common/configured-list.js';
import { StatusBadge } from '../common/status-badge.js';
import { repeats } from './groups.js';

/** The leaderboards of the configuration. */
export default function Leaderboards() {
  const { api, href } = useScope();
  const paging = usePaging(useAddress());
  const boards = useQuery(api.admin.query('/leaderboards', { params: { query: paging.range } }));
  // The Admin API names what is ranked by ids; the list of the Application API has its names.
  const named = useQuery(api.application.query('/leaderboards', { params: { query: { includeFinished: true } } }));
  const ranked = (id: string): string | undefined => {
    const board = named.data?.find((one) => one.id === id);
    return board?.metricName ?? board?.pointsSystemName;
  };
  return (
    <ConfiguredListPage
      title="Leaderboards"
      noun="leaderboards"
      part="leaderboards"
      of={readAfter(boards, named)}
      paging={paging}
      columns={[
        { title: 'Leaderboard', cell: ({ key, name }) => <a href={href(`/leaderboards/${encodeURIComponent(key)}`)}>{name}</a> },
        { title: 'Key', cell: ({ key }) => <code>{key}</code> },
        { title: 'Ranks by', cell: ({ id, rankBy }) => ranked(id) ?? rankBy },
        { title: 'Repeats', cell: ({ runUnit, runInterval }) => repeats(runUnit, runInterval) },
        { title: 'From', cell: ({ start }) => formatDate(start) },
        { title: 'Until', cell: ({ end }) => (end === undefined ? <span class="none">no end</span> : formatDate(end)) },
        { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
      ]}
    />
  );
}
