/**
 * Laurel through the official client library: three people learn until one of them reaches a level, then a leaderboard is shown.
 * Needs a running Laurel with the sample configuration (examples/study-app.yaml). See examples/README.md.
 */
import { pathToFileURL } from 'node:url';
import { TrophyApiClient, type TrophyApi } from '@trophyso/node';

const metric = 'flashcards-viewed';
const pointsSystem = 'points';
const leaderboard = 'all-time';

/** The learners, and how many flashcards each views per event. */
const learners = [
  { id: 'ada', name: 'Ada', city: 'London', flashcards: 4 },
  { id: 'grace', name: 'Grace', city: 'New York', flashcards: 3 },
  { id: 'edsger', name: 'Edsger', city: 'Rotterdam', flashcards: 2 },
] as const;

/** An account whose learners are all at the highest level would never show a change. */
const maxRounds = 100;

export interface ExampleOptions {
  /** Where Laurel listens, such as `http://127.0.0.1:7070`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Takes one line. */
  readonly print: (line: string) => void;
}

/** A change of level in a response. Newer versions of the library declare it; the types of 1.0.42 lack it. */
interface WithLevel {
  readonly level?: { readonly name: string } | null;
}

/** Sends events until a level changes, then prints the leaderboard. On a fresh account it prints the same every time. */
export async function runExample({ baseUrl, apiKey, print }: ExampleOptions): Promise<void> {
  const trophy = new TrophyApiClient({ apiKey, environment: { api: `${baseUrl}/v1`, admin: `${baseUrl}/admin/v1` } });
  let round = 0;
  while (!(await learn(trophy, print))) {
    round += 1;
    if (round === maxRounds) throw new Error(`No level changed in ${maxRounds} rounds.`);
  }
  print('');
  printRankings(await trophy.leaderboards.get(leaderboard, { limit: 10 }), print);
}

/** One event of each learner. Returns whether one of them reached another level. */
async function learn(trophy: TrophyApiClient, print: (line: string) => void): Promise<boolean> {
  let levelChanged = false;
  for (const { id, name, city, flashcards } of learners) {
    const { total, points } = await trophy.metrics.event(metric, { user: { id, name, attributes: { city } }, value: flashcards });
    const earned: (TrophyApi.MetricEventPointsResponse & WithLevel) | undefined = points[pointsSystem];
    print(`${name} has viewed ${total} flashcards${earned ? ` and earned ${earned.added} points` : ''}.`);
    if (!earned?.level) continue;
    levelChanged = true;
    print(`${name} has reached the level ${earned.level.name}!`);
  }
  return levelChanged;
}

function printRankings({ name, rankings }: TrophyApi.LeaderboardResponseWithRankings, print: (line: string) => void): void {
  const row = (rank: string, user: string, value: string): string => `${rank.padStart(4)}  ${user.padEnd(10)}${value.padStart(8)}`;
  print(name);
  print(row('Rank', 'User', 'Value'));
  for (const { rank, userName, userId, value } of rankings) print(row(String(rank), userName ?? userId, String(value)));
}

const [, script] = process.argv;
if (script !== undefined && import.meta.url === pathToFileURL(script).href) {
  const { LAUREL_URL = 'http://127.0.0.1:7070', LAUREL_API_KEY } = process.env;
  if (LAUREL_API_KEY) {
    runExample({ baseUrl: LAUREL_URL, apiKey: LAUREL_API_KEY, print: console.log }).catch((error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    });
  } else {
    console.error('Set LAUREL_API_KEY to the API key that Laurel printed when it started.');
    process.exitCode = 1;
  }
}
