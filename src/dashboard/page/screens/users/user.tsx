import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { ApiError } from '../../api/errors.js';
import { useScope } from '../../scope/scope.js';
import { useUserZone } from '../../scope/zone.js';
import { Badge } from '../../ui/badge.js';
import { Page } from '../../ui/page.js';
import { CopyButton } from '../../ui/secret.js';
import { Empty, Loaded } from '../../ui/states.js';
import { AchievementsPanel } from './progress/achievements.js';
import { UserActions } from './profile/actions.js';
import { BoardsPanel } from './progress/boards.js';
import { BoostsPanel } from './progress/boosts.js';
import { KeysPanel } from './profile/keys.js';
import { MessagesPanel } from './profile/messages.js';
import { PointsPanel } from './progress/points.js';
import { PreferencesPanel } from './profile/preferences.js';
import { ProfilePanel } from './profile/profile.js';
import { StreakPanel } from './streak/streak.js';
import { TimelinePanel } from './timeline/timeline-panel.js';
import { TotalsPanel } from './progress/totals.js';
import { UserContext, type Profile } from './user-context.js';
import './users.css';

/** Everything about a user: why the user did or did not get something, and what an operator can do about it. */
export default function UserScreen({ id }: { readonly id: string }) {
  const { api, href } = useScope();
  const user = useQuery(api.admin.query('/users/{id}', { params: { path: { id } } }));
  const [erasedId, setErasedId] = useState<string>();
  if (erasedId === id) {
    return (
      <Page title="User erased">
        <Empty>
          All data about the user “{id}” is deleted. <a href={href('/users')}>Search for another user</a>.
        </Empty>
      </Page>
    );
  }
  if (user.error instanceof ApiError && user.error.status === 404) {
    return (
      <Page title="User not found">
        <Empty>
          There is no user with the id “{id}”. <a href={href('/users')}>Search for a user</a>.
        </Empty>
      </Page>
    );
  }
  if (user.data) return <KnownUser key={id} profile={user.data} erased={() => setErasedId(id)} />;
  return (
    <Page title={id}>
      <Loaded of={user}>{() => null}</Loaded>
    </Page>
  );
}

const parts = [
  ['timeline', 'Timeline'],
  ['points', 'Points'],
  ['streak', 'Streak'],
  ['achievements', 'Achievements'],
  ['leaderboards', 'Leaderboards'],
  ['messages', 'Messages'],
  ['keys', 'Keys'],
] as const;

interface KnownUserProps {
  readonly profile: Profile;
  readonly erased: () => void;
}

function KnownUser({ profile, erased }: KnownUserProps) {
  const { api } = useScope();
  const [said, setSaid] = useState('');
  const settings = useQuery({ ...api.admin.query('/settings'), enabled: profile.tz === null });
  const zone = profile.tz ?? settings.data?.defaultTimeZone;
  useUserZone(zone);
  return (
    <UserContext.Provider value={{ profile, zone, settings, erased, say: setSaid }}>
      <Page title={profile.name ?? profile.id} about={<About profile={profile} />} actions={<UserActions />}>
        <div role="status" class="said">
          {said !== '' && <p class="note good">{said}</p>}
        </div>
        <nav class="jumps" aria-label="Parts of this screen">
          {parts.map(([part, title]) => (
            <a key={part} href={`#${part}`}>
              {title}
            </a>
          ))}
        </nav>
        <div class="user-columns">
          <div class="user-main">
            <ProfilePanel />
            <TimelinePanel />
          </div>
          <div class="user-side">
            <PointsPanel />
            <StreakPanel />
            <TotalsPanel />
            <AchievementsPanel />
            <BoardsPanel />
            <BoostsPanel />
            <PreferencesPanel />
            <MessagesPanel />
            <KeysPanel />
          </div>
        </div>
      </Page>
    </UserContext.Provider>
  );
}

function About({ profile: { id, control } }: { readonly profile: Profile }) {
  return (
    <span class="copied">
      User <code>{id}</code> <CopyButton text={id} /> {control && <Badge tone="warning">control group</Badge>}
    </span>
  );
}
