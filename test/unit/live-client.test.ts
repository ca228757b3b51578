import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { merge, watchLeaderboard, type WatchLeaderboardOptions } from '../../examples/live/laurel-live.js';
import { type BoardState, firstMessages, messagesBetween } from '../../src/live/board-changes.js';
import { parseMessages } from '../support/event-stream.js';
import { boardState, rowsArbitrary } from '../support/live-states.js';

type Listener = (message: { readonly data: string; readonly lastEventId: string }) => void;

/** A stream of a browser whose messages the test sends. */
class FakeSource {
  readonly address: URL;
  isClosed = false;
  private readonly listeners = new Map<string, Listener>();

  constructor(address: URL) {
    this.address = address;
  }

  addEventListener(event: string, listener: Listener): void {
    this.listeners.set(event, listener);
  }

  close(): void {
    this.isClosed = true;
  }

  /** What a server has sent; nothing of it arrives once the client has closed the stream. */
  receive(messages: Buffer | undefined): void {
    for (const { event, id, data } of parseMessages(String(messages ?? ''))) this.fire(event, JSON.stringify(data), id);
  }

  fire(event: string, data = '', lastEventId = ''): void {
    if (!this.isClosed) this.listeners.get(event)?.({ data, lastEventId });
  }
}

/** A client of a leaderboard, the streams that it has opened, and what it has shown. */
function startClient(options: Partial<WatchLeaderboardOptions> = {}) {
  const sources: FakeSource[] = [];
  const waitedMs: number[] = [];
  const client = { sources, waitedMs, rows: [] as readonly object[], tokens: 0, finished: 0, stop: (): void => undefined };
  client.stop = watchLeaderboard('weekly', {
    url: 'https://laurel.example.com',
    query: { limit: '20' },
    token: () => Promise.resolve(`token-${(client.tokens += 1)}`),
    wait: (ms) => {
      waitedMs.push(ms);
      return Promise.resolve();
    },
    EventSource: class extends FakeSource {
      constructor(address: URL) {
        super(address);
        sources.push(this);
      }
    },
    onRanking: ({ rankings }) => (client.rows = rankings),
    onFinished: () => (client.finished += 1),
    ...options,
  });
  /** The stream with a number, counted from 1, once it is open. */
  async function opened(count: number): Promise<FakeSource> {
    let source = sources[count - 1];
    while (!source) {
      await nextTurn();
      source = sources[count - 1];
    }
    return source;
  }
  return { client, opened };
}

describe('The client of live streams for browsers', () => {
  it('merges changes into a list', () => {
    const rows = [
      { userId: 'a', userName: null, rank: 1, value: 9 },
      { userId: 'b', userName: null, rank: 2, value: 8 },
    ];
    const changed = [
      { userId: 'c', userName: 'C', rank: 1, value: 10, previousRank: null },
      { userId: 'a', userName: null, rank: 2, value: 9, previousRank: 1 },
      { userId: 'b', rank: null, previousRank: 2 },
    ];
    expect(merge(rows, changed)).to.deep.equal([
      { userId: 'c', userName: 'C', rank: 1, value: 10 },
      { userId: 'a', userName: null, rank: 2, value: 9 },
    ]);
  });

  it('has the ranking in the end, after random changes and breaks', async () => {
    const stepArbitrary = fc.record({ rows: rowsArbitrary, isBroken: fc.boolean(), run: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 1, maxLength: 12 }), async (steps) => {
        const { client, opened } = startClient();
        let sent: BoardState | undefined;
        let [run, streams] = [0, 1];
        let source = await opened(streams);
        for (const step of steps) {
          run += step.run;
          const state = boardState(step.rows, { run });
          if (step.isBroken) {
            source.fire('error');
            source = await opened((streams += 1));
            // As Laurel does, by the id of the last message that the client has.
            expect(source.address.searchParams.get('lastEventId')).to.equal(sent?.id ?? null);
            if (sent?.id !== state.id) source.receive(firstMessages(state));
          } else source.receive(sent ? messagesBetween(sent, state) : firstMessages(state));
          sent = state;
          expect(client.rows).to.deep.equal(state.rows);
        }
        client.stop();
      }),
    );
  });

  it('opens each stream with another token, after a time at random that grows with failures and shrinks with a message', async () => {
    const { client, opened } = startClient();
    for (let count = 1; count <= 8; count += 1) (await opened(count)).fire('error');
    const last = await opened(9);
    expect(client.sources.map(({ address }) => address.searchParams.get('token'))).to.deep.equal(
      Array.from({ length: 9 }, (_, i) => `token-${i + 1}`),
    );
    for (const [failures, ms] of client.waitedMs.entries()) expect(ms).to.be.within(500, 500 + Math.min(60_000, 2_000 * 2 ** failures));
    last.receive(firstMessages(boardState([])));
    last.fire('error');
    await opened(10);
    expect(client.waitedMs.at(-1)).to.be.within(500, 2_500);
    expect(last.isClosed).to.equal(true);
    client.stop();
  });

  it('tries again when its server gives no token, and not after it was stopped', async () => {
    let tries = 0;
    const problems: unknown[] = [];
    const { client, opened } = startClient({
      token: () => ((tries += 1) < 3 ? Promise.reject(new Error('away')) : Promise.resolve('token')),
      onStatus: (_, error) => {
        if (error instanceof Error) problems.push(error.message);
      },
    });
    const source = await opened(1);
    expect(problems).to.deep.equal(['away', 'away']);
    expect(String(source.address)).to.equal('https://laurel.example.com/v1/leaderboards/weekly/live?limit=20&token=token');
    client.stop();
    expect(source.isClosed).to.equal(true);
    source.fire('error');
    await nextTurn();
    expect(client.sources).to.have.length(1);
  });

  it('tells when a run is over', async () => {
    const { client, opened } = startClient();
    const source = await opened(1);
    source.receive(firstMessages(boardState([], { isFinal: true })));
    expect(client.finished).to.equal(1);
    client.stop();
  });
});
