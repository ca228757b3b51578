import type { NotificationType } from '../../config/schema/message-types.js';
import { checkText } from '../../config/templates/check.js';
import { defaultTexts, type MessageTexts, type TextField, textFields } from './defaults.js';
import { fallbacksOf } from './locales.js';
import type { ConfigDocument, MessageTemplate } from '../../config/schema/model.js';
import { type FieldText, type OwnTemplate, renderFields, type SwitchedOff } from './rendering.js';
import type { MessageVariables } from './variables.js';
import { builtInLocale } from './words.js';

/** A template, stored or not. */
export type TemplateTexts = MessageTexts & OwnTemplate & Pick<MessageTemplate, 'archived'>;

/** The part of a configuration that messages are rendered with. */
export interface MessageConfig {
  readonly document: Pick<ConfigDocument, 'messages'> & { readonly templates: readonly TemplateTexts[] };
}

/** A configuration with a template that takes the place of the one of its type and locale. */
export function withTemplate({ document }: MessageConfig, template: TemplateTexts): MessageConfig {
  const others = document.templates.filter(({ type, locale }) => type !== template.type || locale !== template.locale);
  return { document: { messages: document.messages, templates: [...others, template] } };
}

/** A text, the locale that it is written in, and its template; null for a built-in text. */
type LocalText = Omit<FieldText, 'field'>;

interface Candidate extends Pick<LocalText, 'template'> {
  readonly texts: MessageTexts;
}

/** The texts of a type for a locale, the preferred ones first; the built-in ones are the last. */
function candidates({ document }: MessageConfig, type: NotificationType, locale: string): readonly Candidate[] {
  const live = document.templates.filter((template) => !template.archived && template.type === type);
  const byLocale = new Map(live.map((template) => [template.locale, template]));
  const wanted = [...fallbacksOf(locale), ...fallbacksOf(document.messages.defaultLocale)];
  const found = [...new Set(wanted)].flatMap((tag) => byLocale.get(tag) ?? []);
  return [...found.map((template) => ({ template, texts: template })), { template: null, texts: defaultTexts[type] }];
}

/** The text of a field; undefined for one that has none. */
function textOf(
  config: MessageConfig,
  { type, locale }: Pick<MessageVariables, 'type' | 'locale'>,
  field: TextField,
): LocalText | undefined {
  for (const { texts, template } of candidates(config, type, locale)) {
    const text = texts[field];
    if (text !== null) return { text, locale: template?.locale ?? builtInLocale, template };
  }
  return undefined;
}

/** The locale in which a text is shown: a French text is for all French users, each of whom has the dates and numbers of their own country. */
const shownIn = (text: Pick<LocalText, 'locale'>, locale: string): string =>
  fallbacksOf(locale).includes(text.locale) ? locale : text.locale;

/** The locale of a message: that of its text in a field. */
export function localeOf(config: MessageConfig, variables: MessageVariables, field: TextField): string {
  const found = textOf(config, variables, field);
  return found === undefined ? builtInLocale : shownIn(found, variables.locale);
}

/** Renders fields, each empty without a text. `variables` are bounded (bounds.ts). Throws a TextOverrun (rendering.ts). */
export async function renderTexts<F extends TextField>(
  config: MessageConfig,
  variables: MessageVariables,
  fields: readonly F[],
  off?: SwitchedOff,
): Promise<Readonly<Record<F, string>>> {
  const texts = fields.flatMap((field): FieldText[] => {
    const found = textOf(config, variables, field);
    return found ? [{ ...found, field, locale: shownIn(found, variables.locale) }] : [];
  });
  const rendered = await renderFields(texts, variables, off);
  const byField = new Map<string, string | undefined>(texts.map(({ field }, index) => [field, rendered[index]]));
  return Object.fromEntries(fields.map((field) => [field, byField.get(field) ?? ''])) as Record<F, string>;
}

/** What the texts of a message use of the variables that cost a read of their own. */
export interface Uses {
  /** Keys of leaderboards. */
  readonly leaderboards: readonly string[];
  readonly streakDays: boolean;
}

/** What the texts of a type, in a locale and for both channels, use. */
export function usesOf(config: MessageConfig, type: NotificationType, locale: string): Uses {
  const texts = textFields.map((field) => textOf(config, { type, locale }, field)?.text ?? '');
  const checked = texts.map((text) => checkText(type, text));
  return {
    leaderboards: checked.flatMap(({ keys }) => keys).flatMap(({ kind, key }) => (kind === 'leaderboard' ? key : [])),
    streakDays: checked.some(({ readsStreakDays }) => readsStreakDays),
  };
}
