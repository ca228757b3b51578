import { useQuery } from '@tanstack/preact-query';
import { dataOf } from '../../../api/errors.js';
import { nextLevel } from '../../../../../shared/progress.js';
import type { components } from '../../../api/schema/application.js';
import { useScope } from '../../../scope/scope.js';
import { formatNumber } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { Loaded } from '../../../ui/states.js';
import { Meter } from './meter.js';
import { EachSystem, type System } from './systems.js';
import { useUser } from '../user-context.js';

type Points = components['schemas']['UserPoints'];
type Level = components['schemas']['PointsLevel'];

/** The user's points and levels. */
export function PointsPanel() {
  return (
    <div id="points">
      <Panel title="Points and levels">
        <EachSystem>{(system) => <SystemPoints key={system.key} system={system} />}</EachSystem>
      </Panel>
    </div>
  );
}

function SystemPoints({ system: { key } }: { readonly system: System }) {
  const { api } = useScope();
  const { profile } = useUser();
  const points = useQuery(
    api.query(['points', profile.id, key], async () => {
      const [now, levels] = await Promise.all([
        api.application.GET('/users/{id}/points/{key}', { params: { path: { id: profile.id, key }, query: { awards: 1 } } }),
        api.application.GET('/points/{key}/levels', { params: { path: { key } } }),
      ]);
      return { now: dataOf(now), levels: dataOf(levels) };
    }),
  );
  return <Loaded of={points}>{({ now, levels }) => <Standing points={now} levels={levels} />}</Loaded>;
}

function Standing({
  points: { key, name, total, level, maxPoints },
  levels,
}: {
  readonly points: Points;
  readonly levels: readonly Level[];
}) {
  const { href } = useScope();
  const next = nextLevel(levels, total);
  return (
    <div class="standing" role="group" aria-label={name}>
      <h3>
        <a href={href(`/levels?system=${encodeURIComponent(key)}`)}>{name}</a>
      </h3>
      <p>
        <strong>{formatNumber(total)}</strong> points
        {maxPoints !== null && ` of at most ${formatNumber(maxPoints)}`}
        {levels.length > 0 && ` · ${level ? level.name : 'no level yet'}`}
      </p>
      {next && (
        <Meter
          label={`Progress to ${next.level.name}`}
          share={next.share}
          text={`${formatNumber(next.missing)} points to ${next.level.name}`}
        />
      )}
      {!next && levels.length > 0 && <p class="hint">The highest level.</p>}
    </div>
  );
}
