import { useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../api/errors.js';
import { findByKey } from '../../api/find-by-key.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { Change } from '../../ui/change-dialog.js';
import { Chart } from '../../ui/chart.js';
import { SelectField } from '../../ui/field.js';
import { formatNumber, formatShare } from '../../ui/format.js';
import { Page, Panel, Stat } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { ForUsersDialog } from '../common/for-users.js';
import { StatusBadge } from '../common/status-badge.js';
import type { SendUsers } from '../common/user-list.js';
import { dayRanges, daysOf, defaultDays, firstDay } from './days.js';
import { triggerNames } from './trigger-names.js';

/** An achievement: who completes it, and how rare it is, over time. */
export default function Achievement({ achievement: key }: { readonly achievement: string }) {
  const { api, href } = useScope();
  const read = useQuery(
    api.query(['achievement', key], async () => ({
      found: await findByKey(key, (query) => api.admin.GET('/achievements', { params: { query } })),
    })),
  );
  const found = read.data?.found;
  const editor = href(`/configuration/achievements/${encodeURIComponent(key)}`);
  return (
    <Page
      title={found?.name ?? key}
      about={
        found && (
          <>
            <StatusBadge status={found.status} /> Completed by {triggerNames[found.trigger]}. {found.description}
          </>
        )
      }
      actions={
        <>
          {found?.trigger === 'api' && found.status === 'active' && (
            <Change verb="Complete for users">{(close) => <CompleteDialog id={found.id} name={found.name} close={close} />}</Change>
          )}
          <a class="button" href={editor}>
            Edit the achievement
          </a>
        </>
      }
    >
      <Loaded of={read}>
        {(data) =>
          data.found ? (
            <History id={data.found.id} />
          ) : (
            <Empty>
              There is no achievement with the key {key}. <a href={href('/achievements')}>See all achievements</a>.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

function CompleteDialog({ id, name, close }: { readonly id: string; readonly name: string; readonly close: () => void }) {
  const { api } = useScope();
  const send: SendUsers = async (ids, dryRun) => {
    const body = { users: ids.map((user) => ({ id: user })), dryRun };
    return dataOf(await api.admin.POST('/achievements/{id}/completions', { params: { path: { id } }, body })).issues;
  };
  return (
    <ForUsersDialog
      title={`Complete ${name} for users`}
      about="Each of these users completes the achievement now, with its points, webhooks and messages."
      verb="Complete for"
      send={send}
      close={close}
    />
  );
}

function History({ id }: { readonly id: string }) {
  const { api } = useScope();
  const { query, change } = useAddress();
  const days = daysOf(query['days']);
  const read = useQuery(
    api.query(['achievement history', id, days], async () => {
      const path = { id };
      // Only the service knows the date of its clock: the range that it reads by default ends there.
      const latest = dataOf(await api.admin.GET('/analytics/achievements/{id}', { params: { path } }));
      const last = latest.days.at(-1);
      if (last === undefined || days === defaultDays) return latest;
      const query = { from: firstDay(last, days), until: last };
      return dataOf(await api.admin.GET('/analytics/achievements/{id}', { params: { path, query } }));
    }),
  );
  return (
    <>
      <form class="inline" onSubmit={(event) => event.preventDefault()}>
        <SelectField
          label="Range"
          value={String(days)}
          onChange={(value) => {
            change({ days: value });
          }}
          options={dayRanges.map((range) => ({ value: String(range), label: `${range} days` }))}
        />
      </form>
      <Loaded of={read}>
        {(history) => (
          <>
            <div class="stats">
              <Stat
                label={`Completions in ${days} days`}
                value={formatNumber(history.completions.reduce((sum, count) => sum + count, 0))}
              />
              <Stat label="Completions in all" value={formatNumber(history.completed.at(-1) ?? 0)} />
              <Stat label="Of all users" value={formatShare((history.rarity.at(-1) ?? 0) / 100)} />
            </div>
            <div class="columns">
              <Panel title="Completions by day">
                <Chart
                  title="Completions by day"
                  days={history.days}
                  series={[{ label: 'Completions', values: history.completions }]}
                  kind="bars"
                />
              </Panel>
              <Panel title="Share of users who have completed it">
                <Chart
                  title="Share of users who have completed it, in percent"
                  days={history.days}
                  series={[{ label: 'Percent of users', values: history.rarity }]}
                />
              </Panel>
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}
