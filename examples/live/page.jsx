import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { watchLeaderboard, watchUser } from './laurel-live.js';

const pageSize = 10;
const toastMs = 5_000;
const moveMs = 400;
const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

async function call(method, path, body) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`/api/${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error((await response.json()).error);
  return response.json();
}

const newToken = async () => (await call('POST', 'token')).token;

/** Short messages, each for toastMs. */
function useToasts() {
  const [toasts, setToasts] = useState([]);
  const next = useRef(0);
  const add = useCallback((text) => {
    const toast = { no: (next.current += 1), text };
    setToasts((all) => [...all, toast]);
    setTimeout(() => setToasts((all) => all.filter(({ no }) => no !== toast.no)), toastMs);
  }, []);
  return [toasts, add];
}

/** Moves rows from where they were to where they are, unless the user prefers reduced motion. */
function useMoves(rows) {
  const list = useRef(null);
  const places = useRef(new Map());
  useLayoutEffect(() => {
    const before = places.current;
    places.current = new Map([...list.current.children].map((row) => [row.dataset.user, row.offsetTop]));
    if (isStill()) return;
    for (const row of list.current.children) {
      const from = before.get(row.dataset.user);
      const by = from === undefined ? 0 : from - row.offsetTop;
      if (by !== 0) row.animate([{ transform: `translateY(${by}px)` }, { transform: 'none' }], { duration: moveMs, easing: 'ease-out' });
      else if (from === undefined && before.size > 0) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: moveMs });
    }
  }, [rows]);
  return list;
}

function Board({ name, rows, me, isLive }) {
  const list = useMoves(rows);
  return (
    <section className="board">
      <h2>
        {name} <span className={isLive ? 'status live' : 'status'}>{isLive ? 'live' : 'connecting…'}</span>
      </h2>
      <ol ref={list}>
        {rows.map(({ userId, userName, rank, value }) => (
          <li key={userId} data-user={userId} className={userId === me ? 'me' : undefined} aria-current={userId === me || undefined}>
            <span className="rank">{rank}</span>
            <span className="name">{userName ?? userId}</span>
            <span className="value">{value.toLocaleString()}</span>
          </li>
        ))}
      </ol>
      {rows.length === 0 && <p className="empty">Nobody is here yet.</p>}
    </section>
  );
}

/** How far a user is from the level to the next. */
function progressOf({ total, levels }) {
  const from = Math.max(0, ...levels.map(({ points }) => points).filter((points) => points <= total));
  const to = Math.min(...levels.map(({ points }) => points).filter((points) => points > total));
  return Number.isFinite(to) ? { share: (total - from) / (to - from), left: to - total } : { share: 1, left: 0 };
}

const radius = 52;
const around = 2 * Math.PI * radius;

function LevelRing({ me }) {
  const { share, left } = progressOf(me);
  const level = me.level?.name ?? 'No level yet';
  const text = left > 0 ? `${left.toLocaleString()} points to the next level` : 'The highest level';
  return (
    <figure className="ring">
      <svg viewBox="0 0 120 120" role="img" aria-label={`${level}, ${me.total} points. ${text}.`}>
        <circle className="track" cx="60" cy="60" r={radius} />
        <circle className="done" cx="60" cy="60" r={radius} strokeDasharray={around} strokeDashoffset={around * (1 - share)} />
        <text x="60" y="58">
          {me.total.toLocaleString()}
        </text>
        <text x="60" y="76" className="unit">
          points
        </text>
      </svg>
      <figcaption>
        <strong>{level}</strong>
        <span>{text}</span>
      </figcaption>
    </figure>
  );
}

/** What is known of a user after a `change`, and what it is worth telling. */
function changed(me, { points, achievements, streak }) {
  const { total = me.total, level = me.level } = points[me.pointsKey] ?? {};
  const last = streak.filter(({ how }) => how === 'extended' || how === 'restored').at(-1);
  const isLost = streak.some(({ how }) => how === 'lost');
  const news = [
    ...achievements.map(({ name }) => `Achievement: ${name}`),
    ...(level && level.key !== me.level?.key && total > me.total ? [`You have reached ${level.name}`] : []),
    ...(last && last.length > me.streak ? [`Streak: ${last.length}`] : []),
  ];
  return { next: { ...me, total, level, streak: last?.length ?? (isLost ? 0 : me.streak) }, news };
}

/** Says whom the user has passed, and who has passed the user. */
function passed(before, changes, me) {
  const own = changes.find(({ userId }) => userId === me);
  if (!own?.rank || !own.previousRank || own.rank === own.previousRank) return [];
  const nameAt = (rank) => before.find((row) => row.rank === rank && row.userId !== me);
  const isUp = own.rank < own.previousRank;
  const other = isUp ? nameAt(own.rank) : changes.find(({ userId, rank }) => userId !== me && rank === own.previousRank);
  if (!other) return [];
  const name = other.userName ?? other.userId;
  return [isUp ? `You have just passed ${name}` : `${name} has just passed you`];
}

function App({ signedIn }) {
  const { laurelUrl: url, leaderboard, id } = signedIn;
  const [me, setMe] = useState(signedIn);
  const [board, setBoard] = useState({ name: '', rankings: [] });
  const [isLive, setIsLive] = useState(false);
  const [isSending, setIsSending] = useState(false);
  const [toasts, tell] = useToasts();
  const latest = useRef({ me, rows: [] });

  useEffect(() => {
    const update = (next) => {
      latest.current.me = next;
      setMe(next);
    };
    const stopBoard = watchLeaderboard(leaderboard, {
      ...{ url, token: newToken, query: { limit: String(pageSize) } },
      onStatus: (status) => setIsLive(status === 'live'),
      onRanking: (ranking, changes) => {
        for (const text of passed(latest.current.rows, changes, id)) tell(text);
        latest.current.rows = ranking.rankings;
        setBoard(ranking);
      },
      onFinished: () => tell('A new round begins'),
    });
    const stopUser = watchUser(id, {
      ...{ url, token: newToken },
      onReset: () => call('GET', 'me').then(update, ({ message }) => tell(message)),
      onChange: (change) => {
        const { next, news } = changed(latest.current.me, change);
        update(next);
        for (const text of news) tell(text);
      },
    });
    return () => {
      stopBoard();
      stopUser();
    };
  }, [url, leaderboard, id, tell]);

  const study = async () => {
    setIsSending(true);
    await call('POST', 'event').catch(({ message }) => tell(message));
    setIsSending(false);
  };

  return (
    <main>
      <section className="me-card">
        <h1>{me.name}</h1>
        <LevelRing me={me} />
        <p className="streak">
          <strong>{me.streak}</strong> {me.streak === 1 ? 'day' : 'days'} in a row
        </p>
        <button onClick={study} disabled={isSending}>
          View 5 flashcards
        </button>
      </section>
      <Board name={board.name} rows={board.rankings} me={id} isLive={isLive} />
      <div className="toasts" role="status">
        {toasts.map(({ no, text }) => (
          <p key={no}>{text}</p>
        ))}
      </div>
    </main>
  );
}

function SignIn({ onSignedIn }) {
  const [problem, setProblem] = useState('');
  const submit = (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get('name');
    call('POST', 'sign-in', { name }).then(onSignedIn, ({ message }) => setProblem(message));
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <h1>Study together</h1>
        <label>
          Your name <input name="name" required maxLength={40} autoFocus autoComplete="nickname" />
        </label>
        <button>Start</button>
        <p role="alert">{problem}</p>
      </form>
    </main>
  );
}

function Page() {
  const [signedIn, setSignedIn] = useState(null);
  return signedIn ? <App signedIn={signedIn} /> : <SignIn onSignedIn={setSignedIn} />;
}

createRoot(document.getElementById('page')).render(<Page />);
