/** What is wrong with a configuration, as data, and the words for it: those of a file, and those of the Admin API. */
import { type z } from 'zod';
import { andMore, OperatorError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { type ReferenceKind, type Repetition } from '../schema/kind.js';
import { fileNames } from '../schema/kinds.js';
import { type Path, type Position } from './yaml.js';

/** What a problem is about: an object by its key, an object of a file by its place in its list, or what there is one of. */
export interface Subject {
  readonly kind: string;
  readonly key?: string;
  readonly index?: number;
}

/** What a sentence calls an object: `metric "a"`. */
export const named = (kind: string, { key }: { readonly key: string }): string => `${kind} ${JSON.stringify(key)}`;

const nameOf = ({ kind, key, index }: Subject): string =>
  key !== undefined ? named(kind, { key }) : index === undefined ? kind : `${kind} number ${index + 1}`;

/** Names the field of a file for the reader. */
type NameOf = (field: string) => string;

const count = (value: number): string => Math.ceil(value).toLocaleString('en-US');
const repetitions: Readonly<Record<Repetition, string>> = {
  named: 'is listed twice',
  filtered: 'is filtered twice, and all filters must match',
  two_conditions: 'has two conditions',
};
const archivedReasons = {
  archived: 'is archived',
  not_in_file: 'is archived: add it to the file to use it again',
  pruned: 'is not in the file, so --prune would archive it',
} as const;
/** Most names that one sentence lists. */
const shownNames = 5;
const listed = (names: readonly string[]): string =>
  names.length <= shownNames ? names.join(' and ') : `${names.slice(0, shownNames).join(', ')} and ${names.length - shownNames} others`;
/** `userAttributes.attributeKey` for `['userAttributes', 0, 'attributeKey']`. */
const fieldName = (path: Path, name: NameOf): string =>
  path.flatMap((segment) => (typeof segment === 'string' ? [name(segment)] : [])).join('.');

/** An estimate (work.ts) that is above its limit: what makes it up, and how to get below. */
interface TooMuchWork {
  readonly of: string;
  readonly us: number;
  readonly counts: readonly (readonly [count: number, what: string])[];
  readonly mostUs: number;
  readonly advice: string;
}

/**
 * Every problem that there is: its code, its values, and the rest of the sentence that starts with its subject and a colon, or without the
 * colon if the rest starts with a space.
 */
const words = {
  // Of a file.
  syntax: ({ message }: { message: string }) => message,
  file_too_large: `the file is larger than ${limits.maxConfigFileBytes} bytes`,
  file_empty: 'the file is empty',
  whole_too_large: `the whole configuration would exceed a file of ${limits.maxConfigFileBytes} bytes: delete objects that are no longer needed`,
  /** `message` is a predicate: `must be a text`. `field` is relative to the subject, and empty for the subject itself. */
  invalid_value: ({ field, message }: { field: Path; message: string }, name: NameOf) => `${fieldName(field, name)} ${message}`,
  unknown_field: (of: { field: string; inside: Path; known: readonly string[]; more: string }, name: NameOf) =>
    `unknown field ${JSON.stringify(of.field)} (${of.inside.length === 0 ? `allowed: ${of.known.join(', ')}` : `in ${fieldName(of.inside, name)}`})${of.more}`,
  repeated_in_file: ({ line }: { line: number | null }) => `duplicate key${line === null ? '' : `, first used on line ${line}`}`,

  // References.
  unknown_reference: (of: { to: ReferenceKind; key?: string; only?: string }) =>
    `there is no ${of.key === undefined ? `such ${of.to}` : named(of.to, { key: of.key })}${of.only === undefined ? '' : `, only the ${of.only}`}`,
  archived_reference: ({ to, key, why }: { to: ReferenceKind; key: string; why: keyof typeof archivedReasons }) =>
    `${named(to, { key })} ${archivedReasons[why]}`,
  repeated_reference: ({ to, key, repetition }: { to: ReferenceKind; key: string; repetition: Repetition }) =>
    `${named(to, { key })} ${repetitions[repetition]}`,
  cycle: ({ keys }: { keys: readonly string[] }) => `it can never be completed because it requires itself: ${keys.join(' -> ')}`,

  // Rules of a whole configuration.
  key_taken: 'the key is already in use',
  too_many: ({ what, found, most }: { what: string; found: number; most: number }) => `${found} ${what} exceed the limit of ${most}`,
  same_points: ({ other, points }: { other: string; points: number }) =>
    `${named('level', { key: other })} also starts at ${points} points`,
  unreachable_level: ({ points, maxPoints }: { points: number; maxPoints: number }) =>
    `${points} points cannot be reached because maxPoints is ${maxPoints}`,
  nothing_to_block: 'blockIfOutOfPoints has no effect because the trigger deducts no points',
  hours_reversed: ({ from, to }: { from: number; to: number }) =>
    `achievementToHour is ${to}: it must be after achievementFromHour, ${from}`,
  no_conditions: 'metrics must name at least one metric while streaks are enabled',
  days_off_not_daily: ({ frequency }: { frequency: string }) =>
    `daysOff must be empty with frequency: ${frequency}: only daily streaks have days off`,
  too_many_freezes: ({ maximum }: { maximum: number }) => `freezes.maximum is ${maximum}: the limit is ${limits.maxFreezes}`,
  initial_above_maximum: ({ initial, maximum }: { initial: number; maximum: number }) =>
    `freezes.initial is ${initial}, which is above the maximum of ${maximum}`,
  no_room_for_freezes: 'freezes.maximum is 0, so users cannot earn a freeze',
  missing_with: ({ field, by }: { field: string; by: string }) => `${field} is required with ${by}`,
  ends_before_start: ({ start, end }: { start: string; end: string }) => `the end ${end} is before the start ${start}`,
  chosen_twice: 'userAttributes cannot be combined with userId: the boost is for one user',
  empty_window: ({ time }: { time: string }) => `the window is empty: startTime and endTime are both ${time}`,
  empty_day: 'the window is empty: it ends at 00:00, when the day starts. Omit endTime',
  no_quiet_hour: ({ hour }: { hour: number }) => `quietFromHour and quietToHour are both ${hour}: no hour is quiet. Use null for both`,
  same_locale: ({ other, type, locale }: { other: string; type: string; locale: string }) =>
    `${named('template', { key: other })} also has type ${type} and locale ${locale}`,
  /** `line` and `column` are those of the text. */
  template_fault: ({ field, line, column, message }: { field: string; line: number; column: number; message: string }) =>
    `${field}, line ${line}, column ${column}: ${message}`,
  too_much_work: (of: TooMuchWork) =>
    `${of.of} could take ${count(of.us)} µs of Redis time (${of.counts.map(([value, what]) => `${count(value)} ${what}`).join(', ')}): ${count(of.mostUs)} µs is the limit. ${of.advice}`,

  // What an object can become.
  not_active_yet: 'it is inactive and must become active before it can be locked',
  inactive_again: ({ status }: { status: string }) =>
    `it is ${status} and cannot become inactive again: use status: locked to keep users from completing it`,
  fixed_field: ({ field }: { field: string }, name: NameOf) =>
    `${name(field)} cannot change once a leaderboard is active because its values would mean something else: create a new leaderboard under another key`,
  leaderboard_inactive_again: 'it is active and cannot become inactive again: it finishes after its end',
  finished_for_good: ({ end }: { end: string }) => `it finished after ${end} and cannot reopen: create a new leaderboard under another key`,
  end_is_over: ({ end, earliest }: { end: string; earliest: string }) =>
    `the end ${end} is in the past: an active leaderboard can end on ${earliest} at the earliest`,
  not_scheduled: ({ start, today }: { start: string; today: string }) =>
    `start must be after today, ${today}, for status: scheduled, not ${start}`,
  not_begun: 'it is scheduled and has not started, so it cannot be finished: delete it instead',
  active_too_early: ({ start }: { start: string }) =>
    `it cannot be active before its start ${start}: use status: scheduled to make it active on that day`,
  active_by_itself: 'it is scheduled and becomes active automatically on its start',
  scheduled_again: 'it is active and cannot become scheduled again',
  stays_finished: 'it is finished and cannot change its status: create a new leaderboard under another key',
  needs_past_end: ({ today }: { today: string }) => `status: finished needs an end before today, ${today}`,

  // Requests of the Admin API.
  unknown_id: ({ kind, id }: { kind: string; id: string }) => `there is no ${kind} with the id ${JSON.stringify(id)}`,
  repeated_id: 'this id appears twice in the batch',
  exists: ' already exists: choose another key',
  archived_key: ' is deleted but keeps its key: choose another key',
  kept_field: ({ field, kind }: { field: string; kind: string }) =>
    `${field} cannot change: create another ${kind} with the one that you need`,
  referred_to: ({ by }: { by: readonly Subject[] }) => ` cannot be deleted: it is used by ${listed(by.map(nameOf))}`,
} satisfies Readonly<Record<string, string | ((values: never, name: NameOf) => string)>>;

type Words = typeof words;
type ProblemCode = keyof Words;
type Fault = {
  [C in ProblemCode]: Words[C] extends (values: infer V, ...rest: never) => string ? { readonly code: C } & V : { readonly code: C };
}[ProblemCode];

/** Something that is wrong, without its wording. */
export type Problem = Fault & { readonly subject?: Subject | undefined };

/** A problem of a whole document. `path` leads from its root to the value at fault. */
export type ConfigProblem = Problem & { readonly path: Path };

/** A problem of a file. */
export interface FileProblem {
  readonly problem: Problem;
  /** null for something that the file doesn't mention, and for contents without lines. */
  readonly position: Position | null;
  /** The value that was refused; null if the problem is not in one value. */
  readonly path: Path | null;
  /** The unknown field, which is no value that could be refused. */
  readonly unknown?: Path;
}

function sentenceOf(problem: Problem, name: NameOf): string {
  const word = words[problem.code] as string | ((values: Problem, name: NameOf) => string);
  const rest = typeof word === 'string' ? word : word(problem, name);
  const { subject } = problem;
  // A value that is not in a field is the subject itself: `metric "a" must be a map`.
  const isWhole = rest.startsWith(' ');
  if (!subject) return isWhole ? `the file${rest}` : rest;
  return `${nameOf(subject)}${isWhole ? '' : ': '}${rest}`;
}

/** The sentence for the reader of a file. */
export const fileSentence = (problem: Problem): string => sentenceOf(problem, (field) => field);

/** Ids stand in the Admin API where a file has keys. */
const apiNames = new Map(
  Object.entries(fileNames).flatMap(([stored, file]) => (stored.endsWith('Id') || stored.endsWith('Ids') ? [[file, stored]] : [])),
);

/** The sentence for the sender of a request, about several problems. */
export function requestSentence(problems: readonly Problem[]): string {
  const sentences = problems.map((problem) => sentenceOf(problem, (field) => apiNames.get(field) ?? field));
  const distinct = [...new Set(sentences.map((sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1)))];
  return `${distinct.slice(0, limits.maxComplaints).join('; ')}${andMore(distinct.length)}.`;
}

/**
 * One problem for each value that a schema refused, and one for each unknown field (whose path then ends in its name). `known` are the
 * fields that the object has.
 */
export function schemaProblems(error: z.ZodError, subject: Subject | undefined, known: readonly string[]): ConfigProblem[] {
  const problems = new Map<string, ConfigProblem>();
  for (const issue of error.issues) {
    const path = issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment));
    if (issue.code === 'unrecognized_keys') {
      for (const [at, field] of issue.keys.slice(0, limits.maxComplaints).entries()) {
        const more = at === limits.maxComplaints - 1 ? andMore(issue.keys.length) : '';
        const place = [...path, field];
        problems.set(JSON.stringify([...place, 'unknown']), {
          code: 'unknown_field',
          subject,
          path: place,
          field,
          inside: path,
          known,
          more,
        });
      }
      continue;
    }
    // Only the first fault of a value: the others usually follow from it.
    const place = JSON.stringify(path);
    if (!problems.has(place)) problems.set(place, { code: 'invalid_value', subject, path, field: path, message: issue.message });
  }
  return [...problems.values()];
}

/** Problems in the order of the file. */
export function inFileOrder(problems: readonly FileProblem[]): FileProblem[] {
  const order = ({ position }: FileProblem): number => (position?.line ?? 0) * 1e9 + (position?.column ?? 0);
  return problems.toSorted((a, b) => order(a) - order(b));
}

/** What is wrong with a file. */
export class FileRefusal extends OperatorError {
  readonly problems: readonly FileProblem[];

  constructor(message: string, problems: readonly FileProblem[]) {
    super(message);
    this.name = 'FileRefusal';
    this.problems = problems;
  }
}

/** An error whose message has a line `FILE:LINE:COLUMN: sentence` for each problem, in the order of the file. */
export function problemsError(fileName: string, problems: readonly FileProblem[]): FileRefusal {
  const lines = inFileOrder(problems).map(
    ({ position, problem }) => `${fileName}:${position ? `${position.line}:${position.column}:` : ''} ${fileSentence(problem)}`,
  );
  return new FileRefusal([...new Set(lines)].join('\n'), problems);
}
