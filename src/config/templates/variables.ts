/**
 * The variables of templates, declared once: check.ts checks the texts of a configuration against this tree, docs/messages-templates.md
 * lists it, and messages/render/variables.ts fills it.
 */
import { type ReferenceKind } from '../schema/kind-names.js';
import { type NotificationType } from '../schema/message-types.js';

/** What has keys that the operator chooses, as sentences call it. */
export type KeyedKind = Extract<ReferenceKind, 'metric' | 'points system' | 'user attribute'> | 'leaderboard';

type ValueKind = 'text' | 'number' | 'date';

interface Described {
  readonly description: string;
  /** The types of message that have the variable; all without it. */
  readonly only?: readonly NotificationType[];
}

export interface Value extends Described {
  readonly value: ValueKind;
}

interface Fields extends Described {
  readonly fields: Readonly<Record<string, Variable>>;
}

/** One variable for each object of a kind, by its key. */
interface Keyed extends Described {
  readonly keys: KeyedKind;
  readonly each: Variable;
}

interface List extends Described {
  readonly items: Variable;
}

export type Variable = Value | Fields | Keyed | List;

const text = (description: string): Value => ({ value: 'text', description });
const number = (description: string): Value => ({ value: 'number', description });
const date = (description: string): Value => ({ value: 'date', description: `${description} (YYYY-MM-DD)` });

const achievementFields = {
  name: text('The name of the achievement'),
  description: text('Its description; empty without one'),
  badgeUrl: text('The URL of its badge; empty without one'),
};

/** The roots of all variables. */
export const templateVariables = {
  type: text('The type of the message, such as recap'),
  locale: text("The locale of the message's texts, such as pt-BR"),
  date: date("The user's local date"),
  brand: {
    description: 'The brand, from the settings of messages',
    fields: { name: text('`messages.brandName`'), url: text('`messages.brandUrl`; empty without one') },
  },
  user: {
    description: 'The recipient',
    fields: {
      id: text("The user's id"),
      name: text("The user's name; empty without one"),
      email: text("The user's email address; empty without one"),
      attributes: {
        description: 'The attributes of the user',
        keys: 'user attribute',
        each: text('The value of a user attribute; empty where the user has none'),
      },
    },
  },
  metrics: {
    description: 'The metrics',
    keys: 'metric',
    each: {
      description: 'One metric',
      fields: {
        name: text('The name of the metric'),
        units: text('Its units; empty without any'),
        total: number("The user's total"),
        change: number('The change of the total in the period of a recap; 0 in other messages'),
      },
    },
  },
  points: {
    description: 'The points systems',
    keys: 'points system',
    each: {
      description: 'One points system',
      fields: {
        name: text('The name of the points system'),
        total: number("The user's points"),
        change: number('The change of the points in the period of a recap; 0 in other messages'),
        level: text("The name of the user's level; empty without one"),
        nextLevel: text('The name of the next level; empty at the highest'),
        toNextLevel: number('The points missing for the next level; 0 at the highest'),
        progress: number('How much of the way from the level to the next is done, from 0 to 100'),
      },
    },
  },
  streak: {
    description: 'The streak',
    fields: {
      length: number('The length of the streak in periods'),
      frequency: text('daily, weekly or monthly'),
      freezes: number('How many freezes the user has'),
      expires: date('The last day on which the user can extend the streak; empty without one'),
      days: {
        description: 'The last periods, newest last',
        items: {
          description: 'One period',
          fields: { date: date('The first day of a period, newest last'), state: text('extended, frozen, paused, kept, missed or today') },
        },
      },
    },
  },
  achievement: { description: 'The first of `achievements`', only: ['achievement_completed'], fields: achievementFields },
  achievements: {
    description: 'The completed achievements',
    only: ['achievement_completed'],
    items: { description: 'One achievement', fields: achievementFields },
  },
  next: {
    description: 'The incomplete achievement that is closest to completion; empty texts and zeros without one',
    fields: {
      name: text('The name of the incomplete achievement closest to completion; empty without one'),
      description: text('Its description; empty without one'),
      current: number('How far the user is'),
      target: number('What completes it'),
      progress: number('From 0 to 100'),
    },
  },
  leaderboards: {
    description: 'The leaderboards',
    keys: 'leaderboard',
    each: {
      description: 'One leaderboard',
      fields: {
        name: text('The name of the leaderboard'),
        rank: number("The user's rank; empty without one"),
        value: number('The value that is ranked; empty without a rank'),
      },
    },
  },
  period: {
    description: 'The period of a recap',
    only: ['recap'],
    fields: { start: date('The first day of the period'), end: date('Its last day'), name: text('day, week, month or year') },
  },
  reactivation: {
    description: 'The inactivity of the user',
    only: ['reactivation'],
    fields: {
      daysSinceLastActive: number('The days since the last event'),
      messageNumber: number('Which message of the series it is, from 1'),
    },
  },
} as const satisfies Readonly<Record<string, Variable>>;

/** Where a key stands in the name of a variable: `metrics.<key>.total`. */
const placeholder = '<key>';

/** A value that templates can show, by its whole name; `[]` follows the name of a list. */
export interface NamedValue {
  readonly name: string;
  readonly kind: ValueKind;
  readonly description: string;
  readonly only: readonly NotificationType[] | undefined;
}

function valuesIn(name: string, variable: Variable, only: NamedValue['only']): NamedValue[] {
  const types = variable.only ?? only;
  if ('value' in variable) return [{ name, kind: variable.value, description: variable.description, only: types }];
  if ('items' in variable) return valuesIn(`${name}[]`, variable.items, types);
  if ('keys' in variable) return valuesIn(`${name}.${placeholder}`, variable.each, types);
  return Object.entries(variable.fields).flatMap(([field, each]) => valuesIn(`${name}.${field}`, each, types));
}

/** Every value of the tree, in its order. */
export const namedValues: readonly NamedValue[] = Object.entries<Variable>(templateVariables).flatMap(([name, variable]) =>
  valuesIn(name, variable, undefined),
);
