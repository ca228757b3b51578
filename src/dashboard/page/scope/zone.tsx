import { createContext, type ComponentChildren } from 'preact';
import { useContext, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { storedPreference, storePreference } from './preferences.js';

/** Whose time zone the moments of a screen are shown in. */
export type ZoneChoice = 'user' | 'browser' | 'utc';

interface Zone {
  /** The zone of all moments on the screen, an IANA time zone. */
  readonly zone: string;
  /** The zones that the operator can choose from; that of the user is there on the screens of a user. */
  readonly zones: ReadonlyMap<ZoneChoice, string>;
  readonly choice: ZoneChoice;
  readonly choose: (choice: ZoneChoice) => void;
  readonly setUserZone: (zone: string | undefined) => void;
}

const browserZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether this browser knows a zone: its time zone data may be older than that of the service. */
function isKnown(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone });
    return true;
  } catch {
    return false;
  }
}

const ZoneContext = createContext<Zone | undefined>(undefined);

/** Holds which time zone the operator has chosen, in this browser. */
export function ZoneProvider({ children }: { readonly children: ComponentChildren }) {
  const [wanted, setWanted] = useState<string | null>(() => storedPreference('laurel-times'));
  const [userZone, setUserZone] = useState<string>();
  const value = useMemo((): Zone => {
    const zones = new Map<ZoneChoice, string>(userZone === undefined ? [] : [['user', userZone]]);
    zones.set('browser', browserZone).set('utc', 'UTC');
    // Without a choice, the screen of a user has the user's zone, and others that of the browser.
    const choice = [...zones.keys()].find((one) => one === wanted) ?? (userZone === undefined ? 'browser' : 'user');
    const choose = (chosen: ZoneChoice): void => {
      storePreference('laurel-times', chosen);
      setWanted(chosen);
    };
    return { zone: zones.get(choice) ?? 'UTC', zones, choice, choose, setUserZone };
  }, [wanted, userZone]);
  return <ZoneContext.Provider value={value}>{children}</ZoneContext.Provider>;
}

export function useZone(): Zone {
  const zone = useContext(ZoneContext);
  if (!zone) throw new Error('a moment outside of the shell');
  return zone;
}

/** Offers the time zone of the user whom the screen is about, if the browser knows it. */
export function useUserZone(zone: string | undefined): void {
  const { setUserZone } = useZone();
  useLayoutEffect(() => {
    setUserZone(zone !== undefined && isKnown(zone) ? zone : undefined);
    return () => setUserZone(undefined);
  }, [zone]);
}
