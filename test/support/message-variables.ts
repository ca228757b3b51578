import { emptyConfig, type MessageSettings, type MessageTemplate } from '../../src/config/schema/model.js';
import { type NotificationType } from '../../src/config/schema/message-types.js';
import { type MessageConfig } from '../../src/messages/render/texts.js';
import { type MessageVariables, type StreakDay } from '../../src/messages/render/variables.js';

/** A configuration of messages; without templates, the built-in texts are used. */
export const messageConfig = (
  messages: Partial<MessageSettings> = {},
  templates: readonly Partial<MessageTemplate>[] = [],
): MessageConfig => ({
  document: {
    messages: { ...emptyConfig.messages, brandName: 'Flashcards', brandUrl: 'https://app.example.com/', ...messages },
    templates: templates.map((template, i) => ({ ...noTexts, id: String(i), no: i + 1, key: `t${i}`, ...template })),
  },
});

const noTexts: MessageTemplate = {
  id: '',
  no: 0,
  key: '',
  name: '',
  created: '',
  updated: '',
  archived: false,
  type: 'recap',
  locale: 'en',
  subject: null,
  heading: null,
  body: null,
  button: null,
  buttonUrl: null,
  pushTitle: null,
  pushBody: null,
};

const firstDay = Date.parse('2040-01-02');
const dayMs = 86_400_000;
const states: Readonly<Record<number, StreakDay['state']>> = { 2: 'missed', 5: 'frozen', 8: 'paused', 10: 'kept', 13: 'today' };
const days = Array.from({ length: 14 }, (_, i) => ({
  date: new Date(firstDay + i * dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length),
  state: states[i] ?? 'extended',
}));

function aboutOf(type: NotificationType): Partial<MessageVariables> {
  switch (type) {
    case 'achievement_completed': {
      const achievement = { name: 'Well read', description: 'A thousand flashcards viewed.', badgeUrl: '' };
      return { achievement, achievements: [achievement, { name: 'Night owl', description: '', badgeUrl: '' }] };
    }
    case 'recap':
      return { period: { start: '2040-01-08', end: '2040-01-14', name: 'week' } };
    case 'reactivation':
      return { reactivation: { daysSinceLastActive: 5, messageNumber: 2 } };
    case 'streak_reminder':
      return {};
  }
}

/** The variables of a message to an eager user. */
export function messageVariables(type: NotificationType, more: Partial<MessageVariables> = {}): MessageVariables {
  return {
    type,
    locale: 'en',
    date: '2040-01-15',
    brand: { name: 'Flashcards', url: 'https://app.example.com/' },
    user: { id: 'ana', name: 'Ana', email: 'ana@example.com', attributes: { city: 'Lisbon' } },
    metrics: {
      cards: { name: 'Flashcards viewed', units: 'flashcards', total: 12_840, change: 312 },
      minutes: { name: 'Minutes studied', units: 'min', total: 950.5, change: -85 },
      unused: { name: 'Unused', units: '', total: 0, change: 0 },
    },
    points: { xp: { name: 'Points', total: 640, change: 90, level: 'Scholar', nextLevel: 'Expert', toNextLevel: 1_360, progress: 9 } },
    streak: { length: 12, frequency: 'daily', freezes: 2, expires: '2040-01-15', days },
    next: { name: 'First hundred', description: '', current: 63, target: 100, progress: 63 },
    leaderboards: { weekly: { name: 'Weekly flashcards', rank: 4, value: 312 }, other: { name: 'Other', rank: null, value: null } },
    ...aboutOf(type),
    ...more,
  };
}

/** The same with every text replaced, also those of lists and of objects by key, but for what has a fixed set of values. */
export function withTexts(variables: MessageVariables, text: string): MessageVariables {
  const fixed: ReadonlySet<string> = new Set(['type', 'locale', 'date', 'frequency', 'state', 'expires', 'period', 'badgeUrl', 'url']);
  const replace = (name: string, value: unknown): unknown => {
    if (fixed.has(name)) return value;
    if (typeof value === 'string') return text;
    if (Array.isArray(value)) return value.map((item: unknown) => replace('', item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replace(key, item)]));
  };
  return replace('', variables) as MessageVariables;
}
