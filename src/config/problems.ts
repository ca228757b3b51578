/** What is wrong with a configuration, as data, and the words for it: those of a file, and those of the Admin API. */
import { type z } from 'zod';
import { andMore, OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { fileNames, type ReferenceKind, type Repetition } from './kinds.js';
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
  named: 'is named twice',
  filtered: 'is filtered twice, and all filters must match',
  two_conditions: 'has two conditions',
};
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
  syntax: ({ message }: { readonly message: string }) => message,
  file_too_large: `the file is larger than ${limits.maxConfigFileBytes} bytes`,
  file_empty: 'the file is empty',
  /** `message` is a predicate: `must be a text`. `field` is relative to the subject, and empty for the subject itself. */
  invalid_value: ({ field, message }: { readonly field: Path; readonly message: string }, name: NameOf) =>
    `${fieldName(field, name)} ${message}`,
  unknown_field: (
    of: { readonly field: string; readonly inside: Path; readonly known: readonly string[]; readonly more: string },
    name: NameOf,
  ) =>
    `unknown field ${JSON.stringify(of.field)} (${of.inside.length === 0 ? `it has ${of.known.join(', ')}` : `in ${fieldName(of.inside, name)}`})${of.more}`,
  repeated_in_file: ({ line }: { readonly line: number }) => `the key is given twice, the first time on line ${line}`,

  // References.
  unknown_reference: (of: { readonly to: ReferenceKind; readonly key?: string; readonly only?: string }) =>
    `there is no ${of.key === undefined ? `such ${of.to}` : named(of.to, { key: of.key })}${of.only === undefined ? '' : `, only the ${of.only}`}`,
  archived_reference: ({ to, key, why }: { readonly to: ReferenceKind; readonly key: string; readonly why?: 'pruned' | 'not_in_file' }) =>
    `${named(to, { key })} ${{ pruned: 'is not in the file, so --prune would archive it', not_in_file: 'is archived: put it into the file to use it again', none: 'is archived' }[why ?? 'none']}`,
  repeated_reference: ({ to, key, repetition }: { readonly to: ReferenceKind; readonly key: string; readonly repetition: Repetition }) =>
    `${named(to, { key })} ${repetitions[repetition]}`,
  cycle: ({ keys }: { readonly keys: readonly string[] }) => `it could never be completed, as it needs itself: ${keys.join(' -> ')}`,

  // Rules of a whole configuration.
  key_taken: 'the key is taken',
  too_many: ({ what, found, most }: { readonly what: string; readonly found: number; readonly most: number }) =>
    `there would be ${found} ${what}: ${most} is the most`,
  same_points: ({ other, points }: { readonly other: string; readonly points: number }) =>
    `${named('level', { key: other })} starts at ${points} points as well`,
  unreachable_level: ({ points, maxPoints }: { readonly points: number; readonly maxPoints: number }) =>
    `${points} points can't be reached, as maxPoints is ${maxPoints}`,
  nothing_to_block: 'blockIfOutOfPoints has nothing to block, as the trigger deducts no points',
  hours_reversed: ({ from, to }: { readonly from: number; readonly to: number }) =>
    `achievementToHour is ${to}, which is not after achievementFromHour, ${from}`,
  no_conditions: 'metrics must name at least one metric while streaks are enabled',
  too_many_freezes: ({ maximum }: { readonly maximum: number }) => `freezes.maximum is ${maximum}: ${limits.maxFreezes} is the most`,
  initial_above_maximum: ({ initial, maximum }: { readonly initial: number; readonly maximum: number }) =>
    `freezes.initial is ${initial}, which is above the maximum of ${maximum}`,
  no_room_for_freezes: 'freezes.maximum is 0, so that no freeze could be earned',
  missing_with: ({ field, by }: { readonly field: string; readonly by: string }) => `${field} is missing, which ${by} needs`,
  ends_before_start: ({ start, end }: { readonly start: string; readonly end: string }) => `the end ${end} is before the start ${start}`,
  chosen_twice: 'it is for one user (userId), so userAttributes have nothing to choose',
  empty_window: ({ time }: { readonly time: string }) => `the window is empty, as startTime and endTime are both ${time}`,
  empty_day: 'the window is empty, as it ends at 00:00, when the day begins: leave endTime out',
  too_much_work: (of: TooMuchWork) =>
    `${of.of} could take ${count(of.us)} µs of Redis' time (${of.counts.map(([value, what]) => `${count(value)} ${what}`).join(', ')}): ${count(of.mostUs)} µs is the most. ${of.advice}`,

  // What an object can become.
  not_active_yet: 'it is inactive and has to be active before it can be locked',
  inactive_again: ({ status }: { readonly status: string }) =>
    `it is ${status} and can't become inactive again: status: locked keeps users from completing it`,
  other_trigger: ({ trigger }: { readonly trigger: string }) =>
    `its trigger is ${trigger} for good: an achievement with another trigger needs another key`,
  other_metric: ({ metric }: { readonly metric: string }) =>
    `it counts ${named('metric', { key: metric })} for good: an achievement by another metric needs another key`,
  fixed_field: ({ field }: { readonly field: string }, name: NameOf) =>
    `${name(field)} stays as it is once a leaderboard is active, as its values would mean something else: make a new one under another key`,
  leaderboard_inactive_again: "it is active and can't become inactive again: it finishes after its end",
  finished_for_good: ({ end }: { readonly end: string }) => `it finished after ${end} and stays finished: make a new one under another key`,
  end_is_over: ({ end, earliest }: { readonly end: string; readonly earliest: string }) =>
    `the end ${end} is over: an active leaderboard can end on ${earliest} at the earliest`,
  not_scheduled: ({ start, today }: { readonly start: string; readonly today: string }) =>
    `start must be after today, ${today}, for status: scheduled, not ${start}`,
  not_begun: 'it is scheduled and has not begun: delete it',
  active_too_early: ({ start }: { readonly start: string }) =>
    `it can't be active before its start ${start}: status: scheduled makes it active on that day`,
  active_by_itself: 'it is scheduled and becomes active on its start by itself',
  scheduled_again: "it is active and can't become scheduled again",
  stays_finished: 'it is finished and stays so: make a new one under another key',
  needs_past_end: ({ today }: { readonly today: string }) => `status: finished needs an end before today, ${today}`,

  // Requests of the Admin API.
  unknown_id: ({ kind, id }: { readonly kind: string; readonly id: string }) => `there is no ${kind} with the id ${JSON.stringify(id)}`,
  repeated_id: 'this id is in the batch twice',
  exists: ' exists already: choose another key',
  referred_to: ({ by }: { readonly by: readonly Subject[] }) => ` can't be deleted: it is referred to by ${listed(by.map(nameOf))}`,
} satisfies Readonly<Record<string, string | ((values: never, name: NameOf) => string)>>;

type Words = typeof words;
export type ProblemCode = keyof Words;
type Fault = {
  [C in ProblemCode]: Words[C] extends (values: infer V, ...rest: never) => string ? { readonly code: C } & V : { readonly code: C };
}[ProblemCode];

/** Something that is wrong, whoever is to read of it. */
export type Problem = Fault & { readonly subject?: Subject | undefined };

/** A problem of a whole document. `path` leads from its root to the value at fault. */
export type ConfigProblem = Problem & { readonly path: Path };

/** A problem of a file. */
export interface FileProblem {
  readonly problem: Problem;
  /** null for something that the file doesn't mention. */
  readonly position: Position | null;
  /** The value that was refused; null if the problem is not in one value. */
  readonly path: Path | null;
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

/** What a problem says of a file. */
export const fileSentence = (problem: Problem): string => sentenceOf(problem, (field) => field);

/** Ids stand in the Admin API where a file has keys. */
const apiNames = new Map(
  Object.entries(fileNames).flatMap(([stored, file]) => (stored.endsWith('Id') || stored.endsWith('Ids') ? [[file, stored]] : [])),
);

/** What several problems say of a request, in one sentence. */
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
    // The first thing wrong with a value is enough: what else its rules say follows from it more often than not.
    const place = JSON.stringify(path);
    if (!problems.has(place)) problems.set(place, { code: 'invalid_value', subject, path, field: path, message: issue.message });
  }
  return [...problems.values()];
}

/** An error whose message has a line `FILE:LINE:COLUMN: sentence` for each problem, in the order of the file. */
export function problemsError(fileName: string, problems: readonly FileProblem[]): OperatorError {
  const order = ({ position }: FileProblem): number => (position?.line ?? 0) * 1e9 + (position?.column ?? 0);
  const lines = problems
    .toSorted((a, b) => order(a) - order(b))
    .map(({ position, problem }) => `${fileName}:${position ? `${position.line}:${position.column}:` : ''} ${fileSentence(problem)}`);
  return new OperatorError([...new Set(lines)].join('\n'));
}
