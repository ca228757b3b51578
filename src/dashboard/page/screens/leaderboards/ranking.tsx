import './leaderboards.css';
import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { given } from '../../api/given.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { PagedTable, usePaging } from '../../ui/paged-table.js';
import { ExportButtons } from '../common/export-buttons.js';
import { announcementOf, directionOf, type Move, movesBetween, moveText, type Place } from './moves.js';
import { type Part, partQuery } from './groups.js';

/** How often a watched ranking is read again. */
const watchMs = 2_000;

interface Watched {
  readonly first: readonly Place[];
  readonly before: readonly Place[];
  readonly now: readonly Place[];
}

interface Moves {
  /** Since the ranking is watched. */
  readonly inAll: ReadonlyMap<string, Move>;
  /** Since the read before the last one. */
  readonly latest: ReadonlyMap<string, Move>;
}

/** What has moved in `rows`, which is undefined while they are read for the first time, and while the ranking is not watched. */
function useMoves(rows: readonly Place[] | undefined): Moves {
  const [watched, setWatched] = useState<Watched>();
  useEffect(() => {
    setWatched((was) => rows && { first: was?.first ?? rows, before: was?.now ?? rows, now: rows });
  }, [rows]);
  if (!watched) return { inAll: new Map(), latest: new Map() };
  return { inAll: movesBetween(watched.first, watched.now), latest: movesBetween(watched.before, watched.now) };
}

/** The ranking of a part, by pages. */
export function Ranking({ part }: { readonly part: Part }) {
  const { api, href } = useScope();
  const address = useAddress();
  const paging = usePaging(address);
  const isWatched = address.query['watch'] === '1';
  const { limit, skip: offset } = paging.range;
  const params = { path: { key: part.board.key }, query: { ...partQuery(part), limit, offset } };
  const read = useQuery({
    ...api.application.query('/leaderboards/{key}', { params }),
    select: ({ rankings }) => rankings,
    refetchInterval: isWatched && watchMs,
    // Each read is another list, also one without moves. A page that was shown before must not be compared with the one before it.
    structuralSharing: false,
    gcTime: 0,
  });
  const exportRun = (format: 'csv' | 'ndjson') =>
    api.admin.GET('/exports/leaderboards/{id}', {
      params: { path: { id: part.board.id }, query: given({ format, run: part.run }) },
      parseAs: 'blob',
    });
  const { inAll, latest } = useMoves(isWatched ? read.data : undefined);
  const changes = {
    title: 'Change',
    cell: ({ userId }: Place) => {
      const move = inAll.get(userId);
      return move && moveText(move);
    },
  };
  return (
    <Panel
      title="Ranking"
      actions={
        <>
          <WatchButton isWatched={isWatched} />
          <ExportButtons name={part.board.key} read={exportRun} />
        </>
      }
    >
      <p role="status" class="visually-hidden">
        {announcementOf(latest)}
      </p>
      <div class="ranking">
        <PagedTable
          caption="Ranking"
          of={read}
          paging={paging}
          keyOf={({ userId }) => userId}
          empty="No user has a value in this run yet. The ranking fills with the events that count."
          classOf={({ userId }) => {
            const move = latest.get(userId);
            return move && directionOf(move);
          }}
          columns={[
            { title: 'Rank', isNumber: true, cell: ({ rank }) => formatNumber(rank) },
            {
              title: 'User',
              cell: ({ userId, userName }) => <a href={href(`/users/${encodeURIComponent(userId)}`)}>{userName ?? userId}</a>,
            },
            { title: 'Value', isNumber: true, cell: ({ value }) => formatNumber(value) },
            ...(isWatched ? [changes] : []),
          ]}
        />
      </div>
      {isWatched && (
        <p class="hint">Reads the ranking every 2 seconds while this tab is visible. “Change” is since you started to watch.</p>
      )}
    </Panel>
  );
}

function WatchButton({ isWatched }: { readonly isWatched: boolean }) {
  const { query, change } = useAddress();
  return (
    <button
      type="button"
      aria-pressed={isWatched}
      onClick={() => {
        change({ watch: isWatched ? undefined : 1, page: query['page'] });
      }}
    >
      {isWatched ? 'Stop watching' : 'Watch'}
    </button>
  );
}
