import { useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../../api/errors.js';
import type { components } from '../../../api/schema/application.js';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { Moment } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { ShowMore } from '../../../ui/show-more.js';
import { Loaded } from '../../../ui/states.js';
import { UserChangeDialog } from '../change.js';
import { Meter } from './meter.js';
import { progressOf, standingOf, type Standing } from './progress.js';
import { useUser } from '../user-context.js';

type Achievement = components['schemas']['UserAchievementWithStats'];

const achievementsShown = 10;

/** What the user has completed, how far the user is towards the rest, and what stands in the way. */
export function AchievementsPanel() {
  const { api, href } = useScope();
  const { profile } = useUser();
  const path = { id: profile.id };
  const read = useQuery(
    api.query(['progress', profile.id], async () => {
      const [achievements, metrics, streak] = await Promise.all([
        api.application.GET('/users/{id}/achievements', { params: { path, query: { includeIncomplete: 'true' } } }),
        api.application.GET('/users/{id}/metrics', { params: { path } }),
        api.application.GET('/users/{id}/streak', { params: { path, query: { historyPeriods: 0 } } }),
      ]);
      return { achievements: dataOf(achievements), metrics: dataOf(metrics), streakLength: dataOf(streak).length };
    }),
  );
  return (
    <div id="achievements">
      <Panel title="Achievements">
        <Loaded of={read}>
          {({ achievements, metrics, streakLength }) => (
            <ShowMore
              items={[...achievements].sort(byCompletion)}
              count={achievementsShown}
              empty={
                <>
                  No achievement is active. <a href={href('/configuration/achievements')}>Create or activate one</a>.
                </>
              }
            >
              {(one) => <Row key={one.id} one={one} standing={standingOf(profile, { achievements, metrics, streakLength })} />}
            </ShowMore>
          )}
        </Loaded>
      </Panel>
    </div>
  );
}

/** The latest completion first, then what is not completed in the order of the configuration. */
const byCompletion = (a: Achievement, b: Achievement): number => {
  const [left, right] = [a.achievedAt ?? '', b.achievedAt ?? ''];
  return left === right ? 0 : left < right ? 1 : -1;
};

function Row({ one, standing }: { readonly one: Achievement; readonly standing: Standing }) {
  const { href } = useScope();
  return (
    <div class="standing" role="group" aria-label={one.name}>
      <h3>
        <a href={href(`/achievements/${encodeURIComponent(one.key)}`)}>{one.name}</a>
      </h3>
      {one.achievedAt === null ? (
        <Missing one={one} standing={standing} />
      ) : (
        <p>
          <span class="done">✓ Completed</span> <Moment at={one.achievedAt} />
        </p>
      )}
    </div>
  );
}

function Missing({ one, standing }: { readonly one: Achievement; readonly standing: Standing }) {
  const { share, text, obstacles } = progressOf(one, standing);
  return (
    <>
      <div class="row-with-action">
        <Meter label={`Progress to ${one.name}`} share={share} text={text} />
        {one.trigger === 'api' && (
          <Change verb="Complete" label={`Complete ${one.name}`}>
            {(close) => <CompleteDialog one={one} close={close} />}
          </Change>
        )}
      </div>
      {obstacles.map((sentence) => (
        <p key={sentence} class="obstacle">
          {sentence}
        </p>
      ))}
    </>
  );
}

function CompleteDialog({ one: { key, name }, close }: { readonly one: Achievement; readonly close: () => void }) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const complete = async (): Promise<string> => {
    const { data } = await api.application.POST('/achievements/{key}/complete', { params: { path: { key } }, body: { user: { id } } });
    const points = Object.values(data?.points ?? {}).map((system) => `${system.added} ${system.name}`);
    return `“${name}” is completed${points.length > 0 ? `, and added ${points.join(', ')}` : ''}.`;
  };
  return (
    <UserChangeDialog title={`Complete “${name}”`} confirm="Complete the achievement" close={close} change={complete}>
      <p>The user gets the achievement now, with the points and achievements that follow from it. It can’t be taken back.</p>
    </UserChangeDialog>
  );
}
