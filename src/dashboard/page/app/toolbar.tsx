import { useZone, type ZoneChoice } from '../scope/zone.js';

/** Above every screen: its time zone. */
export function Toolbar() {
  return (
    <header class="toolbar">
      <ZonePicker />
    </header>
  );
}

const owners: Readonly<Record<ZoneChoice, string>> = { user: ', the user’s', browser: ', this browser’s', utc: '' };

function ZonePicker() {
  const { zones, choice, choose } = useZone();
  return (
    <label>
      Times in
      <select value={choice} title={zones.get(choice)} onChange={(event) => choose(event.currentTarget.value as ZoneChoice)}>
        {[...zones].map(([of, zone]) => (
          <option key={of} value={of}>
            {zone + owners[of]}
          </option>
        ))}
      </select>
    </label>
  );
}
