import { useState } from 'preact/hooks';
import type { components } from '../../../api/schema/admin.js';
import { wholeBatch } from '../../../api/errors.js';
import { useScope } from '../../../scope/scope.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { SelectField, TextField } from '../../../ui/field.js';

type Key = components['schemas']['ApplicationKey'];
type Permission = NonNullable<Key['permissions']>[number];
type WritableField = NonNullable<Key['fields']>[number];

const permissions: readonly (readonly [Permission, string])[] = [
  ['read', 'Read the user’s data, achievements and leaderboards'],
  ['events', 'Send events'],
  ['identify', 'Identify the user, and write the fields below'],
];
const fields: readonly (readonly [WritableField, string])[] = [
  ['name', 'Name'],
  ['email', 'Email address'],
  ['tz', 'Time zone'],
  ['subscribeToEmails', 'Subscription to emails'],
  ['signUpDate', 'Sign-up date'],
  ['deviceTokens', 'Device tokens'],
  ['attributes', 'Attributes'],
  ['preferences', 'Preferences'],
];

const uses = [
  { value: 'page', label: 'A web page or an app: limited' },
  { value: 'server', label: 'A server of yours: everything of this user' },
];

interface ChoicesProps<T extends string> {
  readonly title: string;
  readonly choices: readonly (readonly [T, string])[];
  readonly chosen: readonly T[];
  readonly onChange: (chosen: readonly T[]) => void;
}

function Choices<T extends string>({ title, choices, chosen, onChange }: ChoicesProps<T>) {
  return (
    <fieldset class="choices">
      <legend>{title}</legend>
      {choices.map(([value, label]) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={(event) => {
              onChange(event.currentTarget.checked ? [...chosen, value] : chosen.filter((other) => other !== value));
            }}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface CreateApplicationKeyProps {
  readonly userId: string;
  /** Called with the new key, which the service returns only once. */
  readonly onCreated: (key: string) => void;
  readonly close: () => void;
}

/** Creates an application key of a user, with its limits and its expiry. */
export function CreateApplicationKey({ userId, onCreated, close }: CreateApplicationKeyProps) {
  const { api } = useScope();
  const [use, setUse] = useState('page');
  const [may, setMay] = useState<readonly Permission[]>(['read']);
  const [writes, setWrites] = useState<readonly WritableField[]>([]);
  const [most, setMost] = useState('1');
  const [expires, setExpires] = useState('');
  const create = async (): Promise<string> => {
    const limits =
      use === 'server'
        ? {}
        : { permissions: [...may], fields: [...writes], ...(may.includes('events') ? { maxEventValue: Number(most) } : {}) };
    const item = { userId, ...limits, ...(expires === '' ? {} : { expires: `${expires}T00:00:00Z` }) };
    const { created } = wholeBatch(await api.admin.POST('/application-api-keys', { body: [item] }));
    return created[0]?.key ?? '';
  };
  return (
    <ChangeDialog title="Create an application key" confirm="Create the key" close={close} change={create} onChanged={onCreated}>
      <SelectField label="Used by" value={use} onChange={setUse} options={uses} />
      {use === 'page' && (
        <>
          <Choices title="The key may" choices={permissions} chosen={may} onChange={setMay} />
          {may.includes('events') && (
            <TextField
              label="Largest value of an event"
              type="number"
              step="any"
              value={most}
              onChange={setMost}
              isRequired
              hint="Events with a larger or a negative value are refused."
            />
          )}
          {(may.includes('identify') || may.includes('events')) && (
            <Choices title="The key may write" choices={fields} chosen={writes} onChange={setWrites} />
          )}
        </>
      )}
      <TextField
        label="Expires"
        type="date"
        value={expires}
        onChange={setExpires}
        hint="The key is refused from the start of this day in UTC. Without a day, it is valid until you revoke it."
      />
    </ChangeDialog>
  );
}
