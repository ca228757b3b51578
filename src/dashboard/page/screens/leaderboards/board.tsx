import { useQuery } from '@tanstack/preact-query';
import { given } from '../../api/given.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { formatNumber } from '../../ui/format.js';
import { Page, Panel, Stat } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { StatusBadge } from '../common/status-badge.js';
import { repeats, groupText, runName, runOfDate, type Board as BoardData, type Part, partQuery } from './groups.js';
import { Groups } from './group-list.js';
import { Ranking } from './ranking.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Bars } from '../../ui/bars.js';

/** The newest runs are options of a list; older ones are named by a date. */
const listedRuns = 50;

/** Selects the run of a repeating leaderboard. */
function RunPicker({ board }: { readonly board: BoardData }) {
  const { api } = useScope();
  const { query, change } = useAddress();
  const read = useQuery(
    api.admin.query('/leaderboards/{id}/runs', { params: { path: { id: board.id }, query: { limit: listedRuns + 1, skip: 0 } } }),
  );
  if (board.runUnit === null) return null;
  const select = (run: string): void => {
    change({ run, group: query['group'] });
  };
  return (
    <Loaded of={read}>
      {({ runs }) => {
        const shown = query['run'];
        const listed = runs.slice(0, listedRuns);
        const selected = shown === undefined ? listed.find(({ status }) => status === 'active') : runOfDate(listed, shown);
        const options = listed.map((run) => ({ value: run.start, label: `${runName(run)} · ${run.status}` }));
        const unlisted = shown !== undefined && !selected ? [{ value: shown, label: `The run of ${shown}` }] : [];
        return (
          <form class="inline" aria-label="Run" onSubmit={(event) => event.preventDefault()}>
            <SelectField label="Run" value={selected?.start ?? shown ?? ''} onChange={select} options={[...unlisted, ...options]} />
            {runs.length > listedRuns && <TextField label="Or a date in an older run" type="date" value={shown ?? ''} onChange={select} />}
            {selected && (
              <p>
                <StatusBadge status={selected.status} /> {selected.status === 'finished' && 'This run has ended.'}
              </p>
            )}
          </form>
        );
      }}
    </Loaded>
  );
}

/** How often the distribution of a watched leaderboard is read again. It counts all participants, so it is read less often than the ranking. */
const refreshMs = 10_000;

const orNone = (value: number | null): string => (value === null ? 'none' : formatNumber(value));

/** How the values of a part are distributed over its participants. */
function Distribution({ part }: { readonly part: Part }) {
  const { api } = useScope();
  const { query } = useAddress();
  const { board } = part;
  const read = useQuery({
    ...api.admin.query('/leaderboards/{id}/distribution', { params: { path: { id: board.id }, query: partQuery(part) } }),
    refetchInterval: query['watch'] === '1' && refreshMs,
  });
  return (
    <Panel title="Distribution">
      <Loaded of={read}>
        {({ participants, lowest, median, highest, buckets }) => (
          <>
            <div class="stats">
              <Stat label="Participants" value={formatNumber(participants)} />
              <Stat label="Lowest" value={orNone(lowest)} />
              <Stat label="Median" value={orNone(median)} />
              <Stat label="Highest" value={orNone(highest)} />
            </div>
            {participants > 0 && (
              <Bars
                caption="Users by value"
                of="Value"
                unit="Users"
                total={participants}
                bars={buckets.map(({ from, to, users }) => ({
                  key: String(from),
                  label: `${formatNumber(from)} to below ${formatNumber(to)}`,
                  value: users,
                }))}
              />
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

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
