import { useMutation } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import type { components } from '../../api/schema/admin.js';
import { useScope } from '../../scope/scope.js';
import { SelectField } from '../../ui/field.js';
import { formatNumber } from '../../ui/format.js';
import { Panel, Stat } from '../../ui/page.js';
import { ErrorNote } from '../../ui/states.js';
import { filterValue } from '../common/filters.js';
import { typeNames } from './names.js';

type Type = components['schemas']['Message']['type'];

/** Counts the users whom a type would reach. */
export function Recipients() {
  const { api } = useScope();
  const [type, setType] = useState<Type>('recap');
  const [counted, setCounted] = useState<{ readonly type: Type; readonly email: number; readonly push: number }>();
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => dataOf(await api.admin.GET('/messages/recipients', { params: { query: { type } } })),
    onSuccess: setCounted,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate();
  };
  return (
    <Panel title="Count recipients">
      <p class="hint">
        Counts the users whom a type would reach on their current local day. Sends nothing. With a million users it takes about a minute.
      </p>
      <form class="inline" onSubmit={submit}>
        <SelectField
          label="Type"
          value={type}
          onChange={(value) => {
            setType(filterValue(typeNames, value) ?? type);
          }}
          options={Object.entries(typeNames).map(([value, label]) => ({ value, label }))}
        />
        <button type="submit" disabled={isPending}>
          {isPending ? 'Counting' : 'Count recipients'}
        </button>
      </form>
      {isPending && <progress aria-label="Counting recipients" />}
      {error && <ErrorNote error={error} />}
      <div role="status">
        {counted && (
          <div class="stats">
            <Stat label={`${typeNames[counted.type]} by email`} value={formatNumber(counted.email)} detail="users" />
            <Stat label={`${typeNames[counted.type]} by push`} value={formatNumber(counted.push)} detail="users" />
          </div>
        )}
      </div>
    </Panel>
  );
}
