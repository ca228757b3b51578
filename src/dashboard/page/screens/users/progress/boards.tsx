import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../../api/schema/application.js';
import { useScope } from '../../../scope/scope.js';
import { formatDate, formatNumber } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { ShowMore } from '../../../ui/show-more.js';
import { Loaded } from '../../../ui/states.js';
import { useUser } from '../user-context.js';

type Board = components['schemas']['Leaderboard'];

const boardsShown = 10;

/** Where the user stands on the active leaderboards. */
export function BoardsPanel() {
  const { api, href } = useScope();
  const boards = useQuery(api.application.query('/leaderboards'));
  return (
    <div id="leaderboards">
      <Panel title="Leaderboards">
        <Loaded of={boards}>
          {(all) => (
            <ShowMore
              items={all.filter(({ status }) => status === 'active')}
              count={boardsShown}
              empty={
                <>
                  No leaderboard is active. <a href={href('/configuration/leaderboards')}>Create or activate one</a>.
                </>
              }
            >
              {(board) => <Place key={board.key} board={board} />}
            </ShowMore>
          )}
        </Loaded>
      </Panel>
    </div>
  );
}

function Place({ board: { key, name } }: { readonly board: Board }) {
  const { api, href } = useScope();
  const { profile } = useUser();
  const place = useQuery(
    api.application.query('/users/{id}/leaderboards/{key}', { params: { path: { id: profile.id, key }, query: { numEvents: 1 } } }),
  );
  return (
    <div class="standing" role="group" aria-label={name}>
      <h3>
        <a href={href(`/leaderboards/${encodeURIComponent(key)}`)}>{name}</a>
      </h3>
      <Loaded of={place}>
        {({ rank, value, history }) => (
          <p>
            {rank === null ? <span class="none">No rank</span> : <strong>Rank {formatNumber(rank)}</strong>}
            {value !== null && ` · value ${formatNumber(value)}`}
            {history.at(-1) !== undefined && <span class="hint"> · last moved {formatDate(history.at(-1)?.date ?? '')}</span>}
          </p>
        )}
      </Loaded>
    </div>
  );
}
