import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf, wholeBatch } from '../../../api/errors.js';
import type { components, operations } from '../../../api/schema/application.js';
import type { operations as adminOperations } from '../../../api/schema/admin.js';
import { useScope } from '../../../scope/scope.js';
import { Change } from '../../../ui/change-dialog.js';
import { Badge } from '../../../ui/badge.js';
import { SelectField, TextField } from '../../../ui/field.js';
import { formatDate } from '../../../ui/format.js';
import { Panel } from '../../../ui/page.js';
import { Loaded } from '../../../ui/states.js';
import { UserChangeDialog } from '../change.js';
import { EachSystem, type System } from './systems.js';
import { useUser } from '../user-context.js';

type Boost = operations['users_points_boosts']['responses']['200']['content']['application/json'][number];
type OwnBoost = adminOperations['admin_points_boosts_list']['responses']['200']['content']['application/json'][number];
type Rounding = components['schemas']['PointsBoost']['rounding'];

const boostsRead = 100;

/** The boosts that apply to the user today, and those that only this user has. */
export function BoostsPanel() {
  return (
    <Panel title="Boosts">
      <EachSystem>{(system) => <SystemBoosts key={system.id} system={system} />}</EachSystem>
    </Panel>
  );
}

function SystemBoosts({ system }: { readonly system: System }) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const boosts = useQuery(
    api.query(['boosts', id, system.id], async () => {
      const [today, own] = await Promise.all([
        api.application.GET('/users/{id}/points/{key}/boosts', { params: { path: { id, key: system.key } } }),
        api.admin.GET('/points/{systemId}/boosts', { params: { path: { systemId: system.id }, query: { userId: id, limit: boostsRead } } }),
      ]);
      return { today: dataOf(today), own: dataOf(own) };
    }),
  );
  return (
    <div class="standing" role="group" aria-label={`Boosts of ${system.name}`}>
      <div class="row-with-action">
        <h3>{system.name}</h3>
        <Change verb="Add a boost" label={`Add a boost of ${system.name}`}>
          {(close) => <BoostDialog system={system} close={close} />}
        </Change>
      </div>
      <Loaded of={boosts}>
        {({ today, own }) => {
          const ownIds = new Set(own.map((boost) => boost.id));
          const shared = today.filter((boost) => !ownIds.has(boost.id));
          if (own.length + shared.length === 0) return <p class="none">No boost applies today.</p>;
          return (
            <>
              {own.map((boost) => (
                <OwnRow key={boost.id} boost={boost} system={system} />
              ))}
              {shared.map((boost) => (
                <p key={boost.id}>
                  {describe(boost)} <Badge>not only this user</Badge>
                </p>
              ))}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

const describe = ({ name, multiplier, start, end }: Pick<Boost, 'name' | 'multiplier' | 'start' | 'end'>): string =>
  `${name} × ${multiplier}, ${formatDate(start)} ${end === null ? 'without an end' : `to ${formatDate(end)}`}`;

function OwnRow({ boost, system }: { readonly boost: OwnBoost; readonly system: System }) {
  const { api } = useScope();
  const archive = async (): Promise<string> => {
    const params = { path: { systemId: system.id }, query: { ids: [boost.id] } };
    wholeBatch(await api.admin.DELETE('/points/{systemId}/boosts', { params }));
    return `The boost “${boost.name}” is archived.`;
  };
  return (
    <div class="row-with-action">
      <span>
        {describe(boost)} <Badge tone={boost.status === 'active' ? 'good' : 'neutral'}>{boost.status}</Badge>
      </span>
      <Change verb="Archive" label={`Archive the boost ${boost.name}`}>
        {(close) => (
          <UserChangeDialog
            title={`Archive the boost “${boost.name}”`}
            confirm="Archive the boost"
            isDangerous
            close={close}
            change={archive}
          >
            <p>It no longer multiplies what the user earns. Points that it has multiplied stay.</p>
          </UserChangeDialog>
        )}
      </Change>
    </div>
  );
}

const roundings: readonly { readonly value: Rounding; readonly label: string }[] = [
  { value: 'down', label: 'Down' },
  { value: 'up', label: 'Up' },
  { value: 'nearest', label: 'To the nearest' },
];

function BoostDialog({ system, close }: { readonly system: System; readonly close: () => void }) {
  const { api } = useScope();
  const { id } = useUser().profile;
  const [name, setName] = useState('');
  const [multiplier, setMultiplier] = useState('2');
  const [start, setStart] = useState('');
  const [end, setEnd] = useState('');
  const [rounding, setRounding] = useState<Rounding>('down');
  const add = async (): Promise<string> => {
    const boost = { name, multiplier: Number(multiplier), start, rounding, userId: id, ...(end === '' ? {} : { end }) };
    wholeBatch(await api.admin.POST('/points/{systemId}/boosts', { params: { path: { systemId: system.id } }, body: [boost] }));
    return `The boost “${name}” is added.`;
  };
  return (
    <UserChangeDialog title={`Add a boost of ${system.name}`} confirm="Add the boost" close={close} change={add}>
      <p>Multiplies what this user earns in {system.name}, on the user’s local dates, both included.</p>
      <TextField label="Name" isRequired value={name} onChange={setName} />
      <TextField label="Multiplier" type="number" step="any" isRequired value={multiplier} onChange={setMultiplier} />
      <TextField label="First day" type="date" isRequired value={start} onChange={setStart} />
      <TextField label="Last day" type="date" value={end} onChange={setEnd} hint="Leave it empty for a boost without an end." />
      <SelectField
        label="Rounding"
        value={rounding}
        options={roundings}
        onChange={(value) => {
          setRounding(roundings.find((one) => one.value === value)?.value ?? 'down');
        }}
      />
    </UserChangeDialog>
  );
}
