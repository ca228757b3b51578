export * from './numbers.js';

const moments = new Intl.DateTimeFormat('en-US', {
  ...{ year: 'numeric', month: 'short', day: 'numeric' },
  ...{ hour: 'numeric', minute: '2-digit', timeZoneName: 'short' },
});

/** A moment in the time zone of the browser, which it names; its title has it in UTC. */
export function Moment({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <span class="none">never</span>;
  return (
    <time dateTime={at} title={at}>
      {moments.format(new Date(at))}
    </time>
  );
}
