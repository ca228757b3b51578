import type { NotificationType } from '../config/message-types.js';
import { limits } from '../shared/limits.js';
import { Memo } from '../shared/memo.js';
import { oneLine, paragraphsOf } from './bounds.js';
import { defaultTexts } from './defaults.js';
import type { MessageTexts, TextField } from './fields.js';
import { fallbacksOf } from './locales.js';
import type { ConfigDocument, MessageTemplate } from '../config/model.js';
import { type ParsedTemplate, parseTemplate, renderTemplate } from '../config/templates.js';
import type { MessageVariables } from './variables.js';
import { builtInLocale } from './words.js';

/** A template, stored or not. */
export type TemplateTexts = MessageTexts & Pick<MessageTemplate, 'type' | 'locale' | 'archived'>;

/** The part of a configuration that messages are rendered with. */
export interface MessageConfig {
  readonly document: Pick<ConfigDocument, 'messages'> & { readonly templates: readonly TemplateTexts[] };
}

/** A configuration with a template that takes the place of the one of its type and locale. */
export function withTemplate({ document }: MessageConfig, template: TemplateTexts): MessageConfig {
  const others = document.templates.filter(({ type, locale }) => type !== template.type || locale !== template.locale);
  return { document: { messages: document.messages, templates: [...others, template] } };
}

/** A text, and the locale that it is written in. */
interface LocalText {
  readonly locale: string;
  readonly text: string;
}

/** The texts of a type for a locale, the preferred ones first; the built-in ones are the last. */
function candidates({ document }: MessageConfig, type: NotificationType, locale: string): (MessageTexts & { readonly locale: string })[] {
  const live = document.templates.filter((template) => !template.archived && template.type === type);
  const byLocale = new Map(live.map((template) => [template.locale, template]));
  const wanted = [...fallbacksOf(locale), ...fallbacksOf(document.messages.defaultLocale)];
  const found = [...new Set(wanted)].flatMap((tag) => byLocale.get(tag) ?? []);
  return [...found, { ...defaultTexts[type], locale: builtInLocale }];
}

/** The text of a field; undefined for one that has none. */
export function textOf(
  config: MessageConfig,
  { type, locale }: Pick<MessageVariables, 'type' | 'locale'>,
  field: TextField,
): LocalText | undefined {
  for (const { [field]: text, locale: writtenIn } of candidates(config, type, locale)) {
    if (text !== null) return { text, locale: writtenIn };
  }
  return undefined;
}

/** The locale in which a text is shown: a French text is for all French users, each of whom has the dates and numbers of their own country. */
const shownIn = (text: LocalText, locale: string): string => (fallbacksOf(locale).includes(text.locale) ? locale : text.locale);

/** The locale of a message: that of its text in a field. */
export function localeOf(config: MessageConfig, variables: MessageVariables, field: TextField): string {
  const found = textOf(config, variables, field);
  return found === undefined ? builtInLocale : shownIn(found, variables.locale);
}

/** Parsing takes longer than rendering. */
const parsed = new Memo<string, ParsedTemplate>(limits.maxParsedTexts);

/** Renders a field; empty for one without a text. `variables` are bounded (bounds.ts). */
export function renderText(config: MessageConfig, variables: MessageVariables, field: TextField): string {
  const found = textOf(config, variables, field);
  if (found === undefined) return '';
  return renderTemplate(parsed.get(found.text, parseTemplate), { ...variables, locale: shownIn(found, variables.locale) });
}

/** Renders a field as one line of at most `max` characters. */
export const renderLine = (config: MessageConfig, variables: MessageVariables, field: TextField, max: number): string =>
  oneLine(renderText(config, variables, field), max);

/** Renders the body: paragraphs of lines. */
export const renderParagraphs = (config: MessageConfig, variables: MessageVariables): string[][] =>
  paragraphsOf(renderText(config, variables, 'body'), limits.maxMessageBodyChars, limits.maxMessageParagraphs);
