import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import { useChange } from '../../api/use-change.js';
import { useScope } from '../../scope/scope.js';
import { ChangeButton } from '../../ui/change-button.js';
import { TextField } from '../../ui/field.js';
import { Moment } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { ErrorNote, Loaded } from '../../ui/states.js';

const hourMs = 3_600_000;

const steps: readonly (readonly [verb: string, byMs: number])[] = [
  ['1 hour on', hourMs],
  ['1 day on', 24 * hourMs],
  ['1 week on', 7 * 24 * hourMs],
];

/** Moves the test clock of all tenants. */
export function Clock() {
  const { api } = useScope();
  const read = useQuery(api.admin.query('/clock'));
  const [date, setDate] = useState('');
  const move = async (now: string) => dataOf(await api.admin.PUT('/clock', { body: { now } }));
  const { mutate, isPending, error, data: moved } = useChange(move);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    mutate(`${date}T00:00:00Z`);
  };
  return (
    <Panel title="Test clock">
      <Loaded of={read}>
        {({ now }) => (
          <>
            <p>
              It is <Moment at={now} /> for all tenants. The clock moves only forward, and does everything that falls due on the way:
              streaks end, runs of leaderboards become final, messages fall due.
            </p>
            <div class="actions">
              {steps.map(([verb, byMs]) => (
                <ChangeButton
                  key={verb}
                  isDisabled={isPending}
                  label={`Move the clock ${verb}`}
                  onClick={() => mutate(new Date(Date.parse(now) + byMs).toISOString())}
                >
                  {verb}
                </ChangeButton>
              ))}
            </div>
            <form class="inline" onSubmit={submit}>
              <TextField label="To the start of a day (UTC)" type="date" value={date} onChange={setDate} isRequired />
              <ChangeButton type="submit" isDisabled={isPending}>
                Move the clock
              </ChangeButton>
            </form>
          </>
        )}
      </Loaded>
      {isPending && <progress aria-label="Moving the clock" />}
      <p role="status">
        {moved && (
          <>
            The clock shows <Moment at={moved.now} />. Everything that was due is done.
          </>
        )}
      </p>
      {error && <ErrorNote error={error} />}
    </Panel>
  );
}
