import { type ParsedTemplate, parseTemplate, renderTemplate, TemplateOverrun } from '../config/templates/language.js';
import { limits } from '../shared/limits.js';
import { Memo } from '../shared/memo.js';

/** A Liquid text, and the locale of its numbers and dates. */
export interface RenderedText {
  readonly text: string;
  readonly locale: string;
}

/** Parsing takes longer than rendering. */
const parsed = new Memo<string, ParsedTemplate>(limits.maxParsedTexts);

/** The text that a Liquid text makes of variables; null when it passes the limits of templates. */
export function render({ text, locale }: RenderedText, variables: object): string | null {
  try {
    return renderTemplate(parsed.get(text, parseTemplate), { ...variables, locale });
  } catch (error) {
    if (error instanceof TemplateOverrun) return null;
    throw error;
  }
}

export const renderTasks = {
  renderAll: ({ texts, variables }: { readonly texts: readonly RenderedText[]; readonly variables: object }) =>
    texts.map((text) => render(text, variables)),
};
