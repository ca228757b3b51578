import { useState } from 'preact/hooks';
import type { components } from '../../api/schema/admin.js';
import { useAction } from '../../api/use-read.js';
import { useScope } from '../../scope.js';
import { SelectField } from '../../ui/field.js';
import { formatNumber } from '../../ui/format.js';
import { Panel, Stat } from '../../ui/page.js';
import { ErrorNote } from '../../ui/states.js';
import { filterValue } from '../filters.js';
import { typeNames } from './names.js';

type Type = components['schemas']['Message']['type'];

/** Counts the users whom a type would reach. */
export function Recipients() {
  const { api } = useScope();
  const [type, setType] = useState<Type>('recap');
  const [counted, setCounted] = useState<{ readonly type: Type; readonly email: number; readonly push: number }>();
  const { run, isRunning, error } = useAction(async () => {
    const { data } = await api.admin.GET('/messages/recipients', { params: { query: { type } } });
    setCounted(data);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void run();
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
        <button type="submit" disabled={isRunning}>
          {isRunning ? 'Counting' : 'Count recipients'}
        </button>
      </form>
      {isRunning && <progress aria-label="Counting recipients" />}
      {error !== undefined && <ErrorNote error={error} />}
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
