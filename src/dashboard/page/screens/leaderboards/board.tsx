import { useQuery } from '@tanstack/preact-query';
import { given } from '../../api/given.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber } from '../../ui/format.js';
import { Page } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { StatusBadge } from '../common/status-badge.js';
import { Distribution } from './distribution.js';
import { repeats } from './facts.js';
import { Groups } from './group-list.js';
import { groupText } from './groups.js';
import { Ranking } from './ranking.js';
import { RunPicker } from './run-picker.js';
import type { Board as BoardData, Part } from './types.js';

/** A leaderboard: its ranking, its groups and the distribution of its values. */
export default function Board(props: { readonly board: string }) {
  const { api, href } = useScope();
  const list = useQuery(api.application.query('/leaderboards', { params: { query: { includeFinished: true } } }));
  const editor = href(`/configuration/leaderboards/${encodeURIComponent(props.board)}`);
  const found = list.data?.find(({ key }) => key === props.board);
  return (
    <Page
      title={found?.name ?? props.board}
      about={found && <About board={found} />}
      actions={
        <a class="button" href={editor}>
          Edit the leaderboard
        </a>
      }
    >
      <Loaded of={list}>
        {() =>
          found ? (
            <BoardParts key={found.id} board={found} />
          ) : (
            <Empty>
              No leaderboard with the key {props.board} is active, scheduled or finished. An inactive one has no ranking:{' '}
              <a href={editor}>activate it in the configuration</a>.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

function About({ board }: { readonly board: BoardData }) {
  const ranked = board.metricName ?? board.pointsSystemName ?? 'current streak';
  return (
    <>
      <StatusBadge status={board.status} /> Ranks by {ranked}. Repeats: {repeats(board.runUnit, board.runInterval)}. Shows the best{' '}
      {formatNumber(board.maxParticipants)} users{board.breakdownAttributes.length > 0 ? ' of each group' : ''}.
    </>
  );
}

/** What the address selects: a run and, of a leaderboard with breakdown, a group. */
function BoardParts({ board }: { readonly board: BoardData }) {
  const { api } = useScope();
  const { query } = useAddress();
  const hasGroups = board.breakdownAttributes.length > 0;
  const { run } = query;
  const first = useQuery({
    ...api.admin.query('/leaderboards/{id}/groups', { params: { path: { id: board.id }, query: given({ run, limit: 1, skip: 0 }) } }),
    enabled: hasGroups,
  });
  return (
    <>
      <RunPicker board={board} />
      {hasGroups ? (
        <Loaded of={first}>
          {({ groups: [largest] }) => {
            const group = query['group'] ?? (largest && groupText(largest.attributes));
            if (group === undefined) return <Empty>No user is in a group of this run yet. A group appears with its first user.</Empty>;
            return (
              <>
                <Groups part={{ board, run, group }} />
                <PartColumns part={{ board, run, group }} />
              </>
            );
          }}
        </Loaded>
      ) : (
        <PartColumns part={{ board, run, group: query['group'] }} />
      )}
    </>
  );
}

function PartColumns({ part }: { readonly part: Part }) {
  return (
    <div class="columns">
      <Ranking part={part} />
      <Distribution part={part} />
    </div>
  );
}
