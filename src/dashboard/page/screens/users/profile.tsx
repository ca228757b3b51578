import { formatCount, Moment } from '../../ui/format.js';
import { Facts, type Fact } from '../../ui/facts.js';
import { Panel } from '../../ui/page.js';
import { EditButton } from './edit.js';
import { useUser, type Profile } from './user-context.js';

const none = <span class="none">none</span>;

function factsOf(profile: Profile): Fact[] {
  const { name, email, subscribeToEmails, tz, deviceTokens, control, created, updated, attributes } = profile;
  return [
    { title: 'Name', value: name ?? none },
    { title: 'Email', value: email ?? none },
    { title: 'Emails', value: subscribeToEmails ? 'subscribed' : 'unsubscribed' },
    { title: 'Time zone', value: tz ?? 'the default one' },
    { title: 'Devices', value: formatCount(deviceTokens?.length ?? 0, 'device token') },
    { title: 'Control group', value: control ? 'yes' : 'no' },
    { title: 'Created', value: <Moment at={created} /> },
    { title: 'Updated', value: <Moment at={updated} /> },
    ...Object.entries(attributes).map(([key, value]) => ({ title: `Attribute ${key}`, value: value === '' ? none : value })),
  ];
}

/** The properties of the user. */
export function ProfilePanel() {
  const { profile } = useUser();
  return (
    <Panel title="Profile" actions={<EditButton />}>
      <Facts facts={factsOf(profile)} />
    </Panel>
  );
}
