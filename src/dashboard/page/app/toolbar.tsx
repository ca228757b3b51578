import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { useScope } from '../scope/scope.js';
import { useZone, type ZoneChoice } from '../scope/zone.js';
import { Moment } from '../ui/format.js';
import { storedTheme, storeTheme, type Theme, themes } from '../ui/theme.js';

/** How far the test clock may be from the time of the browser while it is not moved. */
const clockToleranceMs = 60_000;

/** Above every screen: the test clock, the time zone of the screen, and its colors. */
export function Toolbar() {
  const { session } = useScope();
  return (
    <header class="toolbar">
      {session.testClock && session.key.tenantId === null && <TestClock />}
      <ZonePicker />
      <ThemePicker />
    </header>
  );
}

/** Says what time it is for all tenants. Its line is there before that is known, so that nothing moves. */
function TestClock() {
  const { api, href } = useScope();
  const { data, dataUpdatedAt: readMs } = useQuery(api.admin.query('/clock'));
  const isMoved = data !== undefined && Math.abs(Date.parse(data.now) - readMs) > clockToleranceMs;
  return (
    <p class={isMoved ? 'test-clock moved' : 'test-clock'}>
      <a href={href('/status')}>Test clock</a>
      {isMoved && (
        <>
          {' '}
          moved to <Moment at={data.now} />
        </>
      )}
    </p>
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

function ThemePicker() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <select
      aria-label="Colors"
      value={theme}
      onChange={(event) => {
        const chosen = event.currentTarget.value as Theme;
        storeTheme(chosen);
        setTheme(chosen);
      }}
    >
      {Object.entries(themes).map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
