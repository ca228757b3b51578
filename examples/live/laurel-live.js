/**
 * Live streams of Laurel in a browser, without dependencies (docs/live.md): connects again with a token of its own and where it was, merges changes
 * into a ranking. laurel-live.d.ts has its types.
 */

/** Ms until a lost connection is made again: the shortest time, and what is added at random, which doubles with each failure up to the last. */
const shortestWaitMs = 500;
const firstWaitMs = 2_000;
const longestWaitMs = 60_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nothing = () => undefined;

/** A row as a ranking has it, without `previousRank`. */
const rowOf = ({ userId, userName, rank, value, rankInList }) => ({
  ...{ userId, userName, rank, value },
  ...(rankInList !== undefined && { rankInList }),
});

/** The rows of a ranking after a `change`, in the order of ranks. */
export function merge(rows, changed) {
  const sent = new Set(changed.map(({ userId }) => userId));
  const others = rows.filter(({ userId }) => !sent.has(userId));
  return [...others, ...changed.filter(({ rank }) => rank !== null).map(rowOf)].sort((a, b) => a.rank - b.rank);
}

/** Follows a stream until the function is called that it returns. `handlers` has what is called with the data of each kind of message. */
function follow(path, { url, query = {}, token, onStatus = nothing, wait = sleep, EventSource = globalThis.EventSource }, handlers) {
  let [source, lastId, failures, isStopped] = [undefined, undefined, 0, false];

  /** Opens a stream. The browser would connect again by itself, but with the old token and without patience. */
  async function connect() {
    const address = new URL(`${url}/v1${path}/live`);
    const parameters = { ...query, token: await token(), ...(lastId !== undefined && { lastEventId: lastId }) };
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    if (!isStopped) source = new EventSource(address);
  }

  /** Resolves when the stream is over. */
  const over = () =>
    new Promise((resolve) => {
      source.addEventListener('open', () => onStatus('live'));
      source.addEventListener('error', resolve);
      for (const [event, handle] of Object.entries(handlers)) {
        source.addEventListener(event, ({ data, lastEventId }) => {
          lastId = lastEventId;
          failures = 0;
          handle(JSON.parse(data));
        });
      }
    });

  async function run() {
    while (!isStopped) {
      try {
        await connect();
        if (!isStopped) await over();
        onStatus('waiting');
      } catch (error) {
        onStatus('waiting', error);
      }
      source?.close();
      await wait(shortestWaitMs + Math.random() * Math.min(longestWaitMs, firstWaitMs * 2 ** failures));
      failures += 1;
    }
  }

  void run();
  return () => {
    isStopped = true;
    source?.close();
  };
}

/**
 * Watches a leaderboard. `onRanking` is called with the ranking, and the rows that have changed, each with `previousRank`; `onFinished` with
 * `runStart` and `runEnd` when a run is over. Returns a function that stops it.
 */
export function watchLeaderboard(key, { onRanking, onFinished = nothing, ...options }) {
  let ranking;
  return follow(`/leaderboards/${encodeURIComponent(key)}`, options, {
    snapshot: (sent) => {
      ranking = sent;
      onRanking(ranking, []);
    },
    change: ({ rankings: changed }) => {
      ranking = { ...ranking, rankings: merge(ranking.rankings, changed) };
      onRanking(ranking, changed);
    },
    finished: onFinished,
  });
}

/**
 * Watches a user. `onReset` is called first, and whenever messages may have been missed: read the user again. `onChange` is called with what has
 * changed. Returns a function that stops it.
 */
export const watchUser = (id, { onReset, onChange, ...options }) =>
  follow(`/users/${encodeURIComponent(id)}`, options, { reset: onReset, change: onChange });
