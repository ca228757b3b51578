import type { NotificationType } from '../config/message-types.js';
import { limits } from '../shared/limits.js';
import { oneLine, paragraphsOf } from './bounds.js';
import { builtInLocale, defaultTexts } from './defaults.js';
import { canonicalLocale, fallbacksOf } from './locales.js';
import { type MessageSettings, type MessageTemplate, parseTemplate, renderTemplate } from './pending-config.js';
import type { MessageVariables } from './variables.js';

/** The texts of a template; null falls back to the next template (docs/messages-templates.md). */
export type MessageTexts = Pick<MessageTemplate, TextField>;
export const textFields = ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'] as const;
export type TextField = (typeof textFields)[number];

/** The part of a configuration that messages are rendered with. */
export interface MessageConfig {
  readonly document: { readonly messages: MessageSettings; readonly templates: readonly MessageTemplate[] };
}

/** A text, and the locale that it is written in. */
interface LocalText {
  readonly locale: string;
  readonly text: string;
}

/** The texts of a type for a locale, the preferred ones first; the built-in ones are the last. */
function candidates({ document }: MessageConfig, type: NotificationType, locale: string): (MessageTexts & { readonly locale: string })[] {
  const live = document.templates.filter((template) => !template.archived && template.type === type);
  const byLocale = new Map(live.map((template) => [canonicalLocale(template.locale), template]));
  const wanted = [...fallbacksOf(locale), ...fallbacksOf(document.messages.defaultLocale)];
  const found = [...new Set(wanted)].flatMap((tag) => byLocale.get(tag) ?? []);
  return [...found, { ...defaultTexts[type], locale: builtInLocale }];
}

/** The text of a field; undefined for one that has none. */
export function textOf(config: MessageConfig, { type, locale }: Pick<MessageVariables, 'type' | 'locale'>, field: TextField): LocalText | undefined {
  for (const { [field]: text, locale: writtenIn } of candidates(config, type, locale)) {
    if (text !== null) return { text, locale: writtenIn };
  }
  return undefined;
}

/** Renders a field; empty for one without a text. `variables` are bounded (bounds.ts). */
export function renderText(config: MessageConfig, variables: MessageVariables, field: TextField): string {
  const found = textOf(config, variables, field);
  return found === undefined ? '' : renderTemplate(parseTemplate(found.text), variables);
}

/** Renders a field as one line of at most `max` characters. */
export const renderLine = (config: MessageConfig, variables: MessageVariables, field: TextField, max: number): string =>
  oneLine(renderText(config, variables, field), max);

/** Renders the body: paragraphs of lines. */
export const renderParagraphs = (config: MessageConfig, variables: MessageVariables): string[][] =>
  paragraphsOf(renderText(config, variables, 'body'), limits.maxMessageBodyChars, limits.maxMessageParagraphs);
