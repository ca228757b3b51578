/** A model to play examples on: times as people write them, and the parts of answers that examples look at. */
import { DateTime } from 'luxon';
import type { ConfigDocument } from '../../../src/config/model.js';
import { baseMs, buildDocument, type DocumentSpec } from './documents.js';
import { applyEdit, type Edit } from './edits.js';
import { Model } from './index.js';
import type { UserProperties } from './users.js';
import type { Answer } from './world.js';

/** Short names of the zones of examples. */
const zoneNames: Readonly<Record<string, string>> = {
  NZ: 'Pacific/Auckland',
  HI: 'Pacific/Honolulu',
  KT: 'Asia/Kathmandu',
  NY: 'America/New_York',
  LX: 'Europe/Lisbon',
  KI: 'Pacific/Kiritimati',
  BK: 'Etc/GMT+12',
  SA: 'America/Santiago',
};

export const zoneNamed = (name: string): string => zoneNames[name] ?? name;

/** `01-03 12:00 NZ` is noon of the 3rd of January 2040 in Auckland; without a zone it is in UTC, and a year may stand before it. */
export function moment(when: string): number {
  const [date = '', time = '', zone = 'UTC'] = when.split(' ');
  const full = date.length > 5 ? date : `2040-${date}`;
  const parsed = DateTime.fromISO(`${full}T${time}`, { zone: zoneNamed(zone) });
  if (!parsed.isValid) throw new Error(`not a time: ${when}`);
  return parsed.toMillis();
}

interface Keyed {
  readonly key: string;
}

export interface AwardRow {
  readonly awarded: number;
  readonly total: number;
  readonly date: string;
  readonly trigger: Readonly<Record<string, unknown>>;
  readonly boosts: readonly { readonly name: string }[];
}

export interface PointsBlock {
  readonly total: number;
  readonly added: number;
  readonly level?: Keyed | null;
  readonly awards: readonly AwardRow[];
}

export interface UserPoints {
  readonly total: number;
  readonly level: Keyed | null;
  readonly awards: readonly AwardRow[];
}

export interface BoardBlock {
  readonly rank: number;
  readonly previousRank: number | null;
  readonly threshold: number;
  readonly start: string;
  readonly end: string | null;
  readonly breakdownAttributeValues?: readonly object[];
}

export interface StreakBlock {
  readonly length: number;
  readonly started: string | null;
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly expires: string | null;
  readonly freezes: number;
  readonly extended?: boolean;
  readonly streakHistory: readonly { readonly length: number; readonly usedFreeze: boolean; readonly usedPause: boolean }[];
  readonly pauses: readonly object[];
}

export interface EventBlock {
  readonly total: number;
  readonly achievements: readonly Keyed[];
  readonly currentStreak: StreakBlock;
  readonly points: Readonly<Record<string, PointsBlock>>;
  readonly leaderboards: Readonly<Record<string, BoardBlock>>;
  readonly idempotentReplayed?: boolean;
}

interface More {
  readonly user?: UserProperties;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

export class Play {
  readonly model: Model;
  document: ConfigDocument;
  private now = baseMs;

  constructor(spec: DocumentSpec) {
    this.document = buildDocument(spec);
    this.model = new Model(this.document, baseMs);
  }

  /** Moves the clock. */
  at(when: string): this {
    this.now = moment(when);
    this.model.setNow(this.now);
    return this;
  }

  /** Sends an event that must be counted. */
  event(id: string, metricKey: string, value: number, more: More = {}): EventBlock {
    return this.body(this.model.event({ ...more, metricKey, value, user: { id, ...more.user } }), 201) as EventBlock;
  }

  /** Sends an event that may be refused. */
  status(id: string, metricKey: string, value: number, more: More = {}): number {
    return this.model.event({ ...more, metricKey, value, user: { id, ...more.user } }).status;
  }

  identify(id: string, properties: UserProperties): this {
    this.body(this.model.identify('upsert', id, properties), 200);
    return this;
  }

  edit(edit: Edit): this {
    this.document = applyEdit(this.document, edit, this.now);
    this.model.configure(this.document);
    return this;
  }

  points(id: string, key = 'p1'): UserPoints {
    return this.body(this.model.points(id, key, 100), 200) as UserPoints;
  }

  streak(id: string, periods = 7): StreakBlock {
    return this.body(this.model.streak(id, periods), 200) as StreakBlock;
  }

  /** The keys of what a user has completed. */
  completed(id: string): string[] {
    return (this.body(this.model.achievements(id, false), 200) as Keyed[]).map(({ key }) => key);
  }

  /** The rows of a board, as `ana 10, bo 5`. */
  board(key: string, run?: string, userAttributes?: string): string {
    const { rankings } = this.body(this.model.leaderboard(key, { run, limit: 1000, userAttributes }), 200) as { rankings: Row[] };
    return rankings.map(({ userId, value }) => `${userId} ${value}`).join(', ');
  }

  /** The final rows of a run, or `open`. */
  final(key: string, run: string): string {
    const { status, body } = this.model.finalRankings(key, run);
    if (status !== 200) return 'open';
    return (body as { rankings: Row[] }).rankings.map(({ userId, value }) => `${userId} ${value}`).join(', ');
  }

  /** The body of an answer that must have this status; examples know its shape. */
  private body({ status, body }: Answer, expected: number): unknown {
    if (status !== expected) throw new Error(`expected ${expected}, got ${status}`);
    return body;
  }
}

interface Row {
  readonly userId: string;
  readonly value: number;
}
