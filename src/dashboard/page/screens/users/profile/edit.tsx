import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { own } from '../../../../../shared/own.js';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { Field, TextField } from '../../../ui/field.js';
import { Loaded } from '../../../ui/states.js';
import { UserChangeDialog } from '../change.js';
import { changesOf, formOf, type UserForm } from './user-edit.js';
import { useUser } from '../user-context.js';

const attributesRead = 100;

/** Opens the form of the user's properties. */
export function EditButton() {
  return <Change verb="Edit">{(close) => <EditDialog close={close} />}</Change>;
}

function EditDialog({ close }: { readonly close: () => void }) {
  const { api } = useScope();
  const { profile } = useUser();
  const [form, setForm] = useState(() => formOf(profile));
  const change = (some: Partial<UserForm>): void => setForm({ ...form, ...some });
  const changes = changesOf(profile, form);
  const save = async (): Promise<string> => {
    await api.application.PATCH('/users/{id}', { params: { path: { id: profile.id } }, body: changes });
    return 'The profile is changed.';
  };
  return (
    <UserChangeDialog title="Edit the profile" confirm="Save" isDisabled={Object.keys(changes).length === 0} close={close} change={save}>
      <TextField label="Name" value={form.name} onChange={(name) => change({ name })} />
      <TextField label="Email" type="email" value={form.email} onChange={(email) => change({ email })} />
      <TextField
        label="Time zone"
        value={form.tz}
        onChange={(tz) => change({ tz })}
        placeholder="Europe/Lisbon"
        hint="An IANA time zone. Empty: the default one of the configuration."
      />
      <TextField label="Signed up" type="date" value={form.signUpDate} onChange={(signUpDate) => change({ signUpDate })} />
      <Field label="Subscribed to emails">
        {({ id }) => (
          <input
            id={id}
            type="checkbox"
            checked={form.subscribeToEmails}
            onChange={(event) => change({ subscribeToEmails: event.currentTarget.checked })}
          />
        )}
      </Field>
      <Attributes values={form.attributes} onChange={(key, value) => change({ attributes: { ...form.attributes, [key]: value } })} />
    </UserChangeDialog>
  );
}

interface AttributesProps {
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (key: string, value: string) => void;
}

function Attributes({ values, onChange }: AttributesProps) {
  const { api } = useScope();
  const attributes = useQuery(api.admin.query('/attributes', { params: { query: { limit: attributesRead } } }));
  return (
    <Loaded of={attributes}>
      {(all) => (
        <>
          {all
            .filter(({ type }) => type === 'user')
            .map(({ key, name }) => (
              <TextField key={key} label={name} value={own(values, key) ?? ''} onChange={(value) => onChange(key, value)} />
            ))}
        </>
      )}
    </Loaded>
  );
}
