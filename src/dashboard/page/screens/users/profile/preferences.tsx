import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../../api/schema/application.js';
import { useScope } from '../../../scope/scope.js';
import { Facts, type Fact } from '../../../ui/facts.js';
import { formatNumber } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { Loaded } from '../../../ui/states.js';
import { useUser } from '../user-context.js';

type Preferences = components['schemas']['Preferences'];

const types = [
  ['achievement_completed', 'Achievement completed'],
  ['recap', 'Recap'],
  ['reactivation', 'Reactivation'],
  ['streak_reminder', 'Streak reminder'],
] as const;

const channelsOf = (channels: readonly string[] | undefined): string =>
  channels === undefined ? 'no preference' : channels.length === 0 ? 'off' : channels.join(' and ');

function factsOf({ notifications, streak }: Preferences): Fact[] {
  const conditions = streak?.metrics?.map(({ key, threshold }) => `${key} ${formatNumber(threshold)}`);
  return [
    ...types.map(([type, title]) => ({ title, value: channelsOf(notifications[type]) })),
    ...(streak ? [{ title: 'Streaks', value: streak.enabled ? 'on' : 'off' }] : []),
    ...(conditions ? [{ title: 'Own streak conditions', value: conditions.join(` ${streak?.evaluationMode} `) }] : []),
  ];
}

/** Which messages the user wants, and the user's own streak conditions. */
export function PreferencesPanel() {
  const { api } = useScope();
  const { id } = useUser().profile;
  const preferences = useQuery(api.application.query('/users/{id}/preferences', { params: { path: { id } } }));
  return (
    <Panel title="Preferences">
      <Loaded of={preferences}>{(data) => <Facts facts={factsOf(data)} />}</Loaded>
    </Panel>
  );
}
