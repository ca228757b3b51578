import { useAddress } from '../../scope/use-address.js';
import { dayRanges } from './analytics.js';

/** Chooses how many days the charts show, which the address names. */
export function RangePicker({ days }: { readonly days: number }) {
  const address = useAddress();
  return (
    <nav class="ranges" aria-label="Days that the charts show">
      {dayRanges.map((range) => (
        <a key={range} class="button" href={address.with({ days: range })} aria-current={range === days ? 'true' : undefined}>
          {range} days
        </a>
      ))}
    </nav>
  );
}
