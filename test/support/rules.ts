/**
 * The language of the tables in test/rules: actions, moment by moment, and the state after each. Each row is played twice: on the real engine
 * with its stores, in a tenant of its own, and on the model. The expectations were worked out by hand.
 *
 * A line is `when | action | expected views`.
 *
 * When: `01-03 12:00` is in UTC, in the zone of the row if it names one; `01-03 12:00 NZ` is in Auckland (zones: model/examples.ts). The year is
 * 2040, and 2 January, on whose noon every row starts, is a Monday. Nothing: the same moment. `~01-03 12:00`: the clock moves without a sweep, so that due work
 * waits for the first call that needs it.
 *
 * What happens: one of `actions` below, such as `ana cards 5` (an event of ana on the metric cards with the value 5), `ana cards 5 city=Nuuk
 * device=phone key=k1` (with attributes and an Idempotency-Key), `ana moves to NZ`, `ana pauses 01-03 to 01-05`, `nothing`.
 *
 * What is then so: `streak 2; freezes 0; points 10`. The names are those of `views` below. They are about the user whom the line names (the
 * last one named, if it names none), or of the one named before: `bo streak 2`. In brackets is which system, board or achievement is meant,
 * if it is not the first one: `points[gems] 3`. What is empty is written `-`.
 */
import { expect } from 'chai';
import type { ConfigDocument } from '../../src/config/schema/model.js';
import { startArena, type Arena } from './engine-subject.js';
import { act, type Scene } from './rules-actions.js';
import { view } from './rules-views.js';
import { baseMs, buildDocument, type DocumentSpec, type StreaksSpec } from './model/documents.js';
import { Model } from './model/index.js';
import { moment } from './model/examples.js';
import type { Subject } from './model/subject.js';

/** The configuration, in the words of the configuration file. A streak needs 1 of cards by default. */
export type Given = Partial<Omit<DocumentSpec, 'streaks'>> & {
  readonly streaks?: Partial<StreaksSpec>;
  /** Users identified at the start. */
  readonly known?: readonly string[];
};

export interface Row {
  readonly rule: string;
  /** What is configured, over what the table has. */
  readonly given?: Given;
  /** Where the times of the lines are local. */
  readonly zone?: string;
  readonly lines: readonly string[];
}

/** The metrics that there are unless a row names its own. */
const metrics = ['cards', 'pages', 'mistakes'] as const;

function documentOf(table: Given, row: Given = {}): ConfigDocument {
  const { streaks: _, known: __, ...given } = { ...table, ...row };
  const streaks = table.streaks || row.streaks ? { conditions: { cards: 1 }, ...table.streaks, ...row.streaks } : undefined;
  return buildDocument({ metrics, ...given, ...(streaks ? { streaks } : {}) });
}

/** Plays a row: the engine or the model. */
interface Player {
  readonly subject: Subject;
  readonly document: ConfigDocument;
}

async function playLine(scene: Scene, line: string, { zone }: Row): Promise<void> {
  const [start = '', what = '', then = ''] = line.split('|').map((part) => part.trim());
  const when = start.replace(/^~/, '');
  if (when !== '') {
    scene.nowMs = moment(zone === undefined || when.split(' ').length > 2 ? when : `${when} ${zone}`);
    await (start === when ? scene.subject.setNow(scene.nowMs) : scene.subject.drift(scene.nowMs));
  }
  const checks = then === '' ? [] : then.split('; ');
  await act(scene, what);
  const isRefused = checks.some((check) => check.startsWith('refused '));
  if (!isRefused && (scene.answer?.status ?? 200) >= 300) throw new Error(`${line}: refused with ${scene.answer?.status}`);
  const found: string[] = [];
  for (const check of checks) found.push(await view(scene, check));
  expect(found.join('; '), line).to.equal(then);
}

async function playRow(row: Row, table: Given, player: Player): Promise<void> {
  const { subject, document } = player;
  const scene: Scene = { subject, document, nowMs: baseMs, user: 'ana', answer: undefined, eventId: '', pauseId: '' };
  for (const id of row.given?.known ?? table.known ?? []) await subject.identify('upsert', id, {});
  for (const line of row.lines) await playLine(scene, line, row);
}

/** Defines the tests of one sentence of the rules: a table, under a configuration that its rows may change. */
export type Says = (sentence: string, given: Given, rows: readonly Row[]) => void;

/** Starts the stores for the tables of one file; call it inside its `describe`. */
export function tablesOnRealStores(): Says {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());
  return (sentence, given, rows) => {
    describe(sentence, () => {
      for (const row of rows) {
        it(row.rule, async () => {
          const document = documentOf(given, row.given);
          const session = await arena.enter(document, baseMs);
          try {
            await playRow(row, given, { subject: session.subject, document });
          } finally {
            await session.leave();
          }
          // The model is what the engine is compared with on random histories, so the same examples have to hold for it.
          const model = new Model(document, baseMs);
          await playRow(row, given, { subject: model, document });
        });
      }
    });
  };
}
