import { useZone } from '../scope/zone.js';

export * from './numbers.js';

/** The formats of moments by time zone: making one takes long. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', {
      ...{ year: 'numeric', month: 'short', day: 'numeric' },
      ...{ hour: 'numeric', minute: '2-digit', timeZoneName: 'short', timeZone },
    });
  formats.set(timeZone, format);
  return format;
}

/** A moment in the time zone of the screen, which it names; its title has it in UTC. */
export function Moment({ at }: { readonly at: string | null | undefined }) {
  const { zone } = useZone();
  if (at === null || at === undefined) return <span class="none">never</span>;
  return (
    <time dateTime={at} title={at}>
      {formatIn(zone).format(new Date(at))}
    </time>
  );
}
