import { useEffect, useState } from 'preact/hooks';
import { useAction, useRead } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { TextField } from '../../ui/field.js';
import { Panel } from '../../ui/page.js';
import { Empty, ErrorNote, Loaded } from '../../ui/states.js';
import { useAddress } from '../../use-address.js';
import { rangeOf, type Entry } from './timeline.js';
import { Days } from './timeline-days.js';
import { useUser, useUserRead } from './user-context.js';

/** What happened to the user, newest first. */
export function TimelinePanel() {
  const { api } = useScope();
  const { profile } = useUser();
  const settings = useRead(() => (profile.tz === null ? api.admin.GET('/settings') : Promise.resolve({ data: undefined })), [profile.tz]);
  const zone = profile.tz ?? settings.data?.defaultTimeZone;
  return (
    <div id="timeline">
      <Panel title="Timeline">
        <Range />
        {zone !== undefined && <Timeline zone={zone} />}
        {zone === undefined && <Loaded of={settings}>{() => null}</Loaded>}
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

interface Older {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

function Timeline({ zone }: { readonly zone: string }) {
  const { api } = useScope();
  const { profile } = useUser();
  const { query } = useAddress();
  const range = rangeOf(query, zone);
  const pageAt = (cursor?: string) =>
    api.admin.GET('/users/{id}/timeline', {
      params: { path: { id: profile.id }, query: { ...range, ...(cursor === undefined ? {} : { cursor }) } },
    });
  const newest = useUserRead(() => pageAt(), [range.from, range.until, zone]);
  const [older, setOlder] = useState<Older>();
  // Older pages continue the newest one that is shown: when that is read again, they go.
  useEffect(() => {
    setOlder(undefined);
  }, [newest.data]);
  const next = older ? older.next : (newest.data?.next ?? null);
  const read = useAction(async () => {
    const { data } = await pageAt(next ?? undefined);
    if (data) setOlder({ entries: [...(older?.entries ?? []), ...data.entries], next: data.next });
  });
  return (
    <Loaded of={newest}>
      {({ entries }) => (
        <>
          <p class="hint">Times in {zone}.</p>
          {entries.length === 0 && <Empty>Nothing happened in this time. Send a test event, or choose other days.</Empty>}
          <Days entries={[...entries, ...(older?.entries ?? [])]} zone={zone} />
          {read.error !== undefined && <ErrorNote error={read.error} />}
          {next !== null && (
            <button type="button" disabled={read.isRunning} onClick={() => void read.run()}>
              {read.isRunning ? 'Loading' : 'Older'}
            </button>
          )}
        </>
      )}
    </Loaded>
  );
}
