import type { FieldText } from '../file/form-fields.js';

/** The words of the forms: labels and help of fields whose meaning docs/configuration.md explains. */

export const name: FieldText = { label: 'Name' };
export const description: FieldText = { label: 'Description' };
export const badge: FieldText = { label: 'Badge', help: 'The URL of an image.' };
export const userAttributes: FieldText = {
  label: 'Only users with',
  help: 'Only users who match all of these attributes. All users without any.',
};

export const attributeFields: Readonly<Record<string, FieldText>> = {
  name,
  type: { label: 'Type', help: 'user: sent with the user and stored. event: sent with one event.' },
};

export const metricFields: Readonly<Record<string, FieldText>> = {
  name,
  unitType: { label: 'Type of the unit' },
  units: { label: 'Unit', help: 'Such as flashcards; for a currency its ISO 4217 code, such as EUR.' },
};

export const streakFields: Readonly<Record<string, FieldText>> = {
  enabled: { label: 'Track streaks' },
  frequency: { label: 'Frequency', help: 'The streak that is shown. All three are tracked, so changing it costs no user a streak.' },
  evaluationMode: {
    label: 'A period counts if',
    options: { AND: 'all conditions are met (AND)', OR: 'one condition is met (OR)' },
  },
  metrics: { label: 'Conditions', help: 'How much the user’s total of the metric must grow in a period.' },
  metricKey: { label: 'Metric' },
  threshold: { label: 'At least' },
  freezes: { label: 'Freezes', help: 'A freeze keeps the streak of a user who misses a period.' },
  initial: { label: 'A new user has' },
  maximum: { label: 'Most per user', help: 'Without it, as many as a new user has.' },
  earnInterval: { label: 'Earned every … days', help: '0: never.' },
  earnAmount: { label: 'Earned each time' },
  daysOff: {
    label: 'Days off',
    help: 'Weekdays that do not count for daily streaks, from 0 (Sunday) to 6 (Saturday): 0, 6. A day off costs no user a streak.',
  },
  personalization: { label: 'Personal conditions', help: 'Users may have conditions and days off of their own, which replace these.' },
};

export const webhookFields: Readonly<Record<string, FieldText>> = {
  name,
  url: { label: 'URL', help: 'Where messages are sent: https://, without a user name or a password.' },
  events: { label: 'Events' },
  status: { label: 'Status', help: 'inactive: no messages are created for it.' },
};

const channels = (label: string): FieldText => ({ label, help: 'The channels of these messages. None switches them off.' });

export const messageFields: Readonly<Record<string, FieldText>> = {
  achievementCompleted: channels('Completed achievements'),
  recap: channels('Recaps'),
  reactivation: channels('Reactivations'),
  streakReminder: channels('Streak reminders'),
  brandName: { label: 'Brand name' },
  brandColor: { label: 'Brand color', help: 'Of buttons and progress bars, as #rrggbb.' },
  brandFont: {
    label: 'Font of emails',
    options: {
      MODERN_SANS: 'Modern sans',
      BOOK_SANS: 'Book sans',
      ORGANIC_SANS: 'Organic sans',
      GEOMETRIC_SANS: 'Geometric sans',
      HEAVY_SANS: 'Heavy sans',
      ROUNDED_SANS: 'Rounded sans',
      MODERN_SERIF: 'Modern serif',
      BOOK_SERIF: 'Book serif',
      MONOSPACE: 'Monospace',
    },
  },
  brandLogoUrl: { label: 'Logo', help: 'The URL of an image.' },
  brandIconUrl: { label: 'Icon of the app', help: 'The URL of an image, for pushes to browsers.' },
  brandUrl: { label: 'Address of the app', help: 'brand.url in templates. Links may lead to its host.' },
  brandAddress: { label: 'Postal address', help: 'In the footer of emails.' },
  linkHosts: { label: 'Hosts of links', help: 'More hosts that links may lead to, such as help.example.com.' },
  defaultLocale: {
    label: 'Default locale',
    help: 'Of users without one, and of the template that others fall back to. Such as en or pt-BR.',
  },
  localeAttribute: { label: 'Attribute with the locale', help: 'Without one, all users have the default locale.' },
  quietFromHour: {
    label: 'Quiet from hour',
    help: 'The hour of the user’s day from which no message is sent. Empty, with the next one: no quiet hours.',
  },
  quietToHour: { label: 'Quiet to hour', help: 'The hour from which messages are sent again.' },
  maxPerUserDay: { label: 'Most messages per user and day' },
  achievementGroupMinutes: { label: 'Gather achievements for … minutes', help: 'Achievements completed in this time are in one message.' },
};

export const templateFields: Readonly<Record<string, FieldText>> = {
  name,
  type: { label: 'Type of message' },
  locale: { label: 'Locale', help: 'Such as en or pt-BR.' },
  subject: { label: 'Subject' },
  heading: { label: 'Heading' },
  body: { label: 'Text', help: 'A blank line separates paragraphs.', isLong: true },
  button: { label: 'Button' },
  buttonUrl: { label: 'Link of the button', help: 'Also opened by the push notification. Without one, the address of the app.' },
  pushTitle: { label: 'Title of the push notification' },
  pushBody: { label: 'Text of the push notification' },
};

const ofUsersDay = 'An hour of the user’s day, from 0 to 23.';

export const settingsFields: Readonly<Record<string, FieldText>> = {
  controlRatio: { label: 'Share of the control group', help: 'Of new users, from 0 to 1. Decided when a user is created, and permanent.' },
  activationWindowDays: {
    label: 'Activation window in days',
    help: 'The first 3 to 30 days of a user, for your own reports. Laurel only stores it.',
  },
  weekStart: { label: 'First day of the week', help: 'For weekly streaks and leaderboards.' },
  defaultTimeZone: { label: 'Default time zone', help: 'Of users without one, such as Europe/Lisbon. Changing it costs no user a streak.' },
  idempotencyRetentionDays: { label: 'Keep idempotency keys for … days', help: 'Empty: for ever.' },
  recapFrequency: { label: 'Recaps' },
  emailHour: { label: 'Hour of recaps and reactivations', help: `${ofUsersDay} Also of reminders of weekly and monthly streaks.` },
  reactivationDays: { label: 'Reactivations after days', help: 'After how many days without an event, in ascending order: 3, 7, 14.' },
  streakReminderHour: { label: 'Hour of daily streak reminders', help: ofUsersDay },
  streakReminderWeekday: { label: 'Day of weekly streak reminders' },
  streakReminderDay: { label: 'Day of monthly streak reminders', help: 'From 1 to 31; in a shorter month its last day.' },
  achievementFromHour: { label: 'Achievement messages from hour', help: ofUsersDay },
  achievementToHour: { label: 'Achievement messages to hour', help: 'From 1 to 24, after the hour above.' },
};
