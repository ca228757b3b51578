import type { Leaderboard } from '../config/schema/model.js';
import type { StreakFact } from '../ledger/entry.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { limits } from '../shared/limits.js';
import { Memo } from '../shared/memo.js';
import { achievementResponse } from './achievements.js';
import { boardRunResponse, leaderboardResponse, rankedResponse, readRunResponse } from './leaderboards.js';
import { metricHead } from './metrics.js';
import { appliedBoostResponse, levelResponse, systemResponse, triggerResponse } from './points.js';
import { eventStreak } from './streaks.js';

/** The JSON of an object without its closing brace, so that further fields can follow. The object has at least one field. */
const openJson = (object: object): string => JSON.stringify(object).slice(0, -1);

const texts = <K>(): Memo<K, string> => new Memo(limits.maxPreparedParts);

/** Texts by key, each made when it is first needed. */
class Prepared<K> {
  private readonly known = texts<K>();
  private readonly make: (key: K) => string;

  constructor(make: (key: K) => string) {
    this.make = make;
  }

  get(key: K): string {
    return this.known.get(key, this.make);
  }
}

/** One run of a leaderboard, and one group of it, as a ledger entry names them. */
interface BoardRun {
  /** The `no` of the leaderboard. */
  readonly no: number;
  /** The first day of the run; 0 for a leaderboard that does not repeat. */
  readonly run: number;
  readonly group?: string | undefined;
}

/**
 * The JSON of what a configuration alone decides, by the numbers (`no`) that Redis replies with. A response to an event is put together from it. The
 * text is what JSON.stringify makes of the object form; `open` texts lack the closing brace.
 */
export class PreparedJson {
  private static readonly ofConfig = new WeakMap<ActiveConfig, PreparedJson>();

  /** `PreparedJson` of a configuration, which lives as long as the configuration. */
  static of(config: ActiveConfig): PreparedJson {
    let prepared = PreparedJson.ofConfig.get(config);
    if (!prepared) {
      prepared = new PreparedJson(config);
      PreparedJson.ofConfig.set(config, prepared);
    }
    return prepared;
  }

  readonly trigger: Prepared<number>;
  readonly level: Prepared<number>;
  /** A boost that applied; the empty text for one that the configuration does not know. */
  readonly appliedBoost: Prepared<number>;
  readonly openAchievement: Prepared<number>;
  /** `"key":{…` of a points system, open. */
  readonly openSystemField: Prepared<number>;
  readonly openSystem: Prepared<number>;
  /** A metric as reads show it, up to the user's total. */
  readonly openMetric: Prepared<number>;
  private readonly config: ActiveConfig;
  private readonly noStreak: string;
  private readonly streaks = texts<string>();
  /** The date of the leaderboards' states, and their texts on it. */
  private date = '';
  private boards = texts<string>();

  private constructor(config: ActiveConfig) {
    this.config = config;
    this.noStreak = JSON.stringify(eventStreak(config, undefined));
    this.trigger = new Prepared((no) => JSON.stringify(triggerResponse(config, mustGet(config.triggerByNo, no, 'trigger'))));
    this.level = new Prepared((no) => JSON.stringify(levelResponse(mustGet(config.levelByNo, no, 'level'))));
    this.appliedBoost = new Prepared((no) => {
      const boost = config.boostByNo.get(no);
      return boost ? JSON.stringify(appliedBoostResponse(boost)) : '';
    });
    this.openAchievement = new Prepared((no) => openJson(achievementResponse(config, mustGet(config.achievementByNo, no, 'achievement'))));
    this.openSystem = new Prepared((no) => openJson(systemResponse(mustGet(config.systemByNo, no, 'points system'))));
    this.openSystemField = new Prepared(
      (no) => `${JSON.stringify(mustGet(config.systemByNo, no, 'points system').key)}:${this.openSystem.get(no)}`,
    );
    this.openMetric = new Prepared((no) => openJson(metricHead(mustGet(config.metricByNo, no, 'metric'))));
  }

  /** The displayed streak in the response to an event. */
  eventStreak(fact: StreakFact | undefined): string {
    if (!fact) return this.noStreak;
    const { length, started, current, isExtended, extended, freezes, weeksFrom, daysOff = '' } = fact;
    const what = `${length} ${started} ${current} ${freezes} ${weeksFrom ?? 0} ${isExtended ? 1 : 0}${extended ? 1 : 0} ${String(daysOff)}`;
    return this.streaks.get(what, () => JSON.stringify(eventStreak(this.config, fact)));
  }

  /** `"key":{…` of a run of a leaderboard on a date, `YYYY-MM-DD`, open. */
  openBoardField({ no, run, group }: BoardRun, date: string): string {
    return this.textOn(date, `${no}:${run}:${group ?? ''}`, () => {
      const board: Leaderboard = mustGet(this.config.leaderboardByNo, no, 'leaderboard');
      return `${JSON.stringify(board.key)}:${openJson(boardRunResponse(this.config, { board, run, group }, date))}`;
    });
  }

  /** A leaderboard on a date, `YYYY-MM-DD`, with what it ranks by and a run of it, open. */
  openRankedBoard(board: Leaderboard, run: number, date: string): string {
    return this.textOn(date, `${board.no} ${run}`, () =>
      openJson({ ...leaderboardResponse(this.config, board, date), ...rankedResponse(this.config, board), ...readRunResponse(board, run) }),
    );
  }

  private textOn(date: string, place: string, make: () => string): string {
    if (date !== this.date) {
      this.date = date;
      this.boards = texts();
    }
    return this.boards.get(place, make);
  }
}
