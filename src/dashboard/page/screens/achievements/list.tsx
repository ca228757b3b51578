import { useQuery } from '@tanstack/preact-query';
import { readAfter } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber, formatShare } from '../../ui/format.js';
import { usePaging } from '../../ui/paged-table.js';
import { ConfiguredListPage } from '../common/configured-list.js';
import { StatusBadge } from '../common/status-badge.js';
import { triggerNames } from './trigger-names.js';

/** The achievements of the configuration, with how many users have completed each. */
export default function Achievements() {
  const { api, href } = useScope();
  const paging = usePaging(useAddress());
  const achievements = useQuery(api.admin.query('/achievements', { params: { query: paging.range } }));
  const counted = useQuery(api.application.query('/achievements'));
  const countOf = (id: string) => counted.data?.find((one) => one.id === id);
  return (
    <ConfiguredListPage
      title="Achievements"
      noun="achievements"
      part="achievements"
      of={readAfter(achievements, counted)}
      paging={paging}
      columns={[
        { title: 'Achievement', cell: ({ key, name }) => <a href={href(`/achievements/${encodeURIComponent(key)}`)}>{name}</a> },
        { title: 'Key', cell: ({ key }) => <code>{key}</code> },
        { title: 'Completed by', cell: ({ trigger }) => triggerNames[trigger] },
        { title: 'Completions', isNumber: true, cell: ({ id }) => numberOr(countOf(id)?.completions, formatNumber) },
        {
          title: 'Of all users',
          isNumber: true,
          cell: ({ id }) => numberOr(countOf(id)?.rarity, (percent) => formatShare(percent / 100)),
        },
        { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
      ]}
    >
      <p class="hint">The service counts the completions of active achievements. Open another one to see those of the past.</p>
    </ConfiguredListPage>
  );
}

const numberOr = (value: number | undefined, format: (value: number) => string) =>
  value === undefined ? <span class="none">not counted</span> : format(value);
