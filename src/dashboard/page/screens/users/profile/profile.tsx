import { useQuery } from '@tanstack/preact-query';
import type { components } from '../../../api/schema/admin.js';
import { useScope } from '../../../scope/scope.js';
import { formatCount, Moment } from '../../../ui/format.js';
import { Facts, type Fact } from '../../../ui/facts.js';
import { Panel } from '../../../ui/page.js';
import { Loading } from '../../../ui/states.js';
import { EditButton } from './edit.js';
import { useUser, type Profile } from '../user-context.js';

const none = <span class="none">none</span>;

type EmailConfirmation = components['schemas']['EmailConfirmation'];

/** Where the installation asks users to confirm their addresses. */
function confirmationFacts(confirmation: EmailConfirmation | undefined): Fact[] {
  if (confirmation?.required !== true || confirmation.email === null) return [];
  const { status, sent, confirmed } = confirmation;
  if (confirmed !== null) return [{ title: 'Address confirmed', value: <Moment at={confirmed} /> }];
  const asked = status === 'sent' && sent !== null;
  return [
    {
      title: 'Address confirmed',
      value: asked ? (
        <>
          no, asked <Moment at={sent} />
        </>
      ) : (
        'not asked yet'
      ),
    },
  ];
}

function factsOf(profile: Profile, confirmation: EmailConfirmation | undefined): Fact[] {
  const { name, email, subscribeToEmails, tz, signUpDate, deviceTokens, control, created, updated, attributes } = profile;
  return [
    { title: 'Name', value: name ?? none },
    { title: 'Email', value: email ?? none },
    ...confirmationFacts(confirmation),
    { title: 'Emails', value: subscribeToEmails ? 'subscribed' : 'unsubscribed' },
    { title: 'Time zone', value: tz ?? 'the default one' },
    { title: 'Signed up', value: signUpDate ?? none },
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
  const { id } = profile;
  const { api } = useScope();
  const confirmation = useQuery(api.admin.query('/users/{id}/email-confirmation', { params: { path: { id } } }));
  return (
    <Panel title="Profile" actions={<EditButton />}>
      {confirmation.isPending ? <Loading /> : <Facts facts={factsOf(profile, confirmation.data)} />}
    </Panel>
  );
}
