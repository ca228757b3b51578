import { useQuery } from '@tanstack/preact-query';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Loaded } from '../../ui/states.js';
import { StatusBadge } from '../common/status-badge.js';
import { runName, runOfDate } from './groups.js';
import type { Board } from './types.js';

/** The newest runs are options of a list; older ones are named by a date. */
const listedRuns = 50;

/** Selects the run of a repeating leaderboard. */
export function RunPicker({ board }: { readonly board: Board }) {
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
