import { own } from '../../../../../shared/own.js';
import type { components } from '../../../api/schema/admin.js';
import type { operations } from '../../../api/schema/application.js';

/** The properties of a user that an operator edits, as texts. */
export interface UserForm {
  readonly name: string;
  readonly email: string;
  readonly tz: string;
  readonly signUpDate: string;
  readonly subscribeToEmails: boolean;
  readonly attributes: Readonly<Record<string, string>>;
}

type Shown = Pick<components['schemas']['User'], keyof UserForm>;
type UserChanges = operations['users_update']['requestBody']['content']['application/json'];

export const formOf = ({ name, email, tz, signUpDate, subscribeToEmails, attributes }: Shown): UserForm => ({
  name: name ?? '',
  email: email ?? '',
  tz: tz ?? '',
  signUpDate: signUpDate ?? '',
  subscribeToEmails,
  attributes,
});

/** The fields of a form that differ from the user: the body of a PATCH, which changes only the fields that it has. */
export function changesOf(user: Shown, form: UserForm): UserChanges {
  const was = formOf(user);
  const changes: UserChanges = {};
  if (form.name !== was.name) changes.name = form.name;
  if (form.email !== was.email) changes.email = form.email;
  if (form.tz !== was.tz) changes.tz = form.tz === '' ? null : form.tz;
  if (form.signUpDate !== was.signUpDate) changes.signUpDate = form.signUpDate === '' ? null : form.signUpDate;
  if (form.subscribeToEmails !== was.subscribeToEmails) changes.subscribeToEmails = form.subscribeToEmails;
  const attributes = Object.entries(form.attributes).filter(([key, value]) => value !== (own(was.attributes, key) ?? ''));
  if (attributes.length > 0) changes.attributes = Object.fromEntries(attributes);
  return changes;
}
