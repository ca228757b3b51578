import { useInfiniteQuery } from '@tanstack/preact-query';
import { dataOf } from '../../../api/errors.js';
import { given } from '../../../api/given.js';
import { useScope } from '../../../scope/scope.js';
import { useZone } from '../../../scope/zone.js';
import { TextField } from '../../../ui/field.js';
import { Panel } from '../../../ui/page.js';
import { Empty, ErrorNote, Loaded } from '../../../ui/states.js';
import { useAddress } from '../../../scope/use-address.js';
import { rangeOf } from './timeline.js';
import { Days } from './timeline-days.js';
import { useUser } from '../user-context.js';

/** What happened to the user, newest first. */
export function TimelinePanel() {
  const { zone, settings } = useUser();
  return (
    <div id="timeline">
      <Panel title="Timeline">
        <Range />
        {zone === undefined ? <Loaded of={settings}>{() => null}</Loaded> : <Timeline ownZone={zone} />}
      </Panel>
    </div>
  );
}

function Range() {
  const { query, change } = useAddress();
  return (
    <form class="inline" onSubmit={(event) => event.preventDefault()}>
      <TextField label="From" type="date" value={query['from'] ?? ''} onChange={(from) => change({ from })} />
      <TextField label="Until" type="date" value={query['until'] ?? ''} onChange={(until) => change({ until })} />
      {(query['from'] ?? query['until']) !== undefined && (
        <button type="button" onClick={() => change({ from: undefined, until: undefined })}>
          Show everything
        </button>
      )}
    </form>
  );
}

function Timeline({ ownZone }: { readonly ownZone: string }) {
  const { api } = useScope();
  const { zone } = useZone();
  const { profile } = useUser();
  const { query } = useAddress();
  const range = rangeOf(query, zone);
  const read = useInfiniteQuery({
    queryKey: api.keyOf(['timeline', profile.id, range]),
    queryFn: async ({ pageParam, signal }) => {
      const query = given({ ...range, cursor: pageParam });
      return dataOf(await api.admin.GET('/users/{id}/timeline', { params: { path: { id: profile.id }, query }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const { data, error, refetch, hasNextPage, isFetchingNextPage, isFetchNextPageError } = read;
  return (
    <Loaded of={{ data, refetch, error: isFetchNextPageError ? null : error }}>
      {({ pages }) => {
        const entries = pages.flatMap((page) => page.entries);
        return (
          <>
            <p class="hint">
              Days and times in {zone}.{zone !== ownZone && ` The streak is by the user’s days, in ${ownZone}.`}
            </p>
            {entries.length === 0 && <Empty>Nothing happened in this time. Send a test event, or choose other days.</Empty>}
            <Days entries={entries} zone={zone} isOwn={zone === ownZone} />
            {isFetchNextPageError && <ErrorNote error={error} />}
            {hasNextPage && (
              <button type="button" disabled={isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
                {isFetchingNextPage ? 'Loading' : 'Older'}
              </button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
