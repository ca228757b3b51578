import type { FieldText } from '../file/form-fields.js';
import { achievementFields, boostFields, leaderboardFields, levelFields, pointsFields, triggerFields } from './game-texts.js';
import {
  attributeFields,
  messageFields,
  metricFields,
  settingsFields,
  streakFields,
  templateFields,
  webhookFields,
} from './field-texts.js';

/** What the page says about a part of the file, or about a list inside its objects. */
export interface PartText {
  readonly title: string;
  /** What one object is called. */
  readonly singular: string;
  readonly about: string;
  /** The fields that the list of objects shows besides name and key. */
  readonly columns: readonly string[];
  /** In the order of the form. Fields of the schema that are not here follow them. */
  readonly fields: Readonly<Record<string, FieldText>>;
  /** The screen that shows how users use an object. */
  readonly usage?: (key: string) => string;
}

const encoded = (path: string) => (key: string) => `${path}/${encodeURIComponent(key)}`;

/** The parts of the file, in the order in which an operator sets them up. */
export const parts: Readonly<Record<string, PartText>> = {
  metrics: {
    title: 'Metrics',
    singular: 'metric',
    about: 'What users do. Each event adds its value to a user’s total of one metric.',
    columns: ['unitType', 'units'],
    fields: metricFields,
  },
  points: {
    title: 'Points systems',
    singular: 'points system',
    about: 'Points that triggers award, with levels and boosts. Each user has one total in each system.',
    columns: ['maxPoints', 'levels', 'triggers', 'boosts'],
    fields: pointsFields,
    usage: (key) => `/levels?system=${encodeURIComponent(key)}`,
  },
  achievements: {
    title: 'Achievements',
    singular: 'achievement',
    about: 'Each user completes an achievement at most once.',
    columns: ['trigger', 'status'],
    fields: achievementFields,
    usage: encoded('/achievements'),
  },
  streaks: {
    title: 'Streaks',
    singular: 'streaks',
    about: 'What a user must do in each period to keep the streak, in the user’s own time zone.',
    columns: [],
    fields: streakFields,
  },
  leaderboards: {
    title: 'Leaderboards',
    singular: 'leaderboard',
    about: 'Rank users by their totals, or by what they gained in each run.',
    columns: ['rankBy', 'start', 'status'],
    fields: leaderboardFields,
    usage: encoded('/leaderboards'),
  },
  attributes: {
    title: 'Attributes',
    singular: 'attribute',
    about: 'Texts that describe users and events. Calls with an attribute that is not configured are refused.',
    columns: ['type'],
    fields: attributeFields,
  },
  webhooks: {
    title: 'Webhooks',
    singular: 'webhook',
    about: 'Endpoints of your servers that are called when something happens. The service generates the secret that signs the messages.',
    columns: ['url', 'status'],
    fields: webhookFields,
    usage: () => '/webhooks',
  },
  messages: {
    title: 'Messages',
    singular: 'messages',
    about: 'What all emails and push notifications to users have in common.',
    columns: [],
    fields: messageFields,
  },
  templates: {
    title: 'Message templates',
    singular: 'template',
    about: 'The texts of messages, one template for each type and locale.',
    columns: ['type', 'locale'],
    fields: templateFields,
  },
  settings: {
    title: 'Settings',
    singular: 'settings',
    about: 'The calendar of the game, the control group, and when messages are due.',
    columns: [],
    fields: settingsFields,
  },
};

/** The lists inside a points system. */
export const innerParts: Readonly<Record<string, PartText>> = {
  levels: {
    title: 'Levels',
    singular: 'level',
    about: 'A user has the level with the highest points that the total has reached.',
    columns: ['points', 'description'],
    fields: levelFields,
  },
  triggers: {
    title: 'Triggers',
    singular: 'trigger',
    about: 'What awards or deducts points.',
    columns: ['type', 'points', 'status'],
    fields: triggerFields,
  },
  boosts: {
    title: 'Boosts',
    singular: 'boost',
    about: 'Multiply what users earn on some days. Several boosts at once multiply each other. Deductions are not boosted.',
    columns: ['multiplier', 'start', 'end'],
    fields: boostFields,
  },
};

/** A part that the page has no texts for, because it is newer. */
const unknownPart = (name: string): PartText => ({ title: name, singular: 'object', about: '', columns: [], fields: {} });

export const partText = (name: string): PartText => (Object.hasOwn(parts, name) ? parts[name] : undefined) ?? unknownPart(name);
export const innerPartText = (name: string): PartText =>
  (Object.hasOwn(innerParts, name) ? innerParts[name] : undefined) ?? unknownPart(name);
