import type { Push } from './message.js';
import { limits } from '../shared/limits.js';
import { boundVariables, cut } from './bounds.js';
import { renderLayout } from './layout.js';
import { directionOf } from './locales.js';
import { isAllowedLink } from '../config/links.js';
import { type MessageConfig, localeOf, renderLine, renderParagraphs, renderText } from './texts.js';
import type { MessageVariables } from './variables.js';
import { brandColors, brandView, detailsView } from './view.js';
import { wordsFor } from './words.js';

/** The links of an email: what a click leads through, and the link to unsubscribe, if there is one. */
export interface MessageLinks {
  readonly click: (url: string) => Promise<string> | string;
  readonly unsubscribeUrl: string | null;
}

/** Why something that a template has was left out; for the log, without personal data. */
export type Warnings = readonly string[];

export interface RenderedEmail {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly warnings: Warnings;
}

export type RenderedPush = Pick<Push, 'title' | 'body' | 'url'> & { readonly warnings: Warnings };

/** Where a message leads, or null and why. */
interface Target {
  readonly url: string | null;
  readonly warnings: Warnings;
}

/** The template's link, or that of the brand. A link to a host that is not allowed is left out. */
function targetOf(config: MessageConfig, variables: MessageVariables, maxChars: number): Target {
  const { messages } = config.document;
  const url = renderText(config, variables, 'buttonUrl').trim() || (messages.brandUrl ?? '');
  if (url === '') return { url: null, warnings: [] };
  if (url.length > maxChars) return { url: null, warnings: [`the link of the template is longer than ${maxChars} characters`] };
  if (isAllowedLink(messages, url)) return { url, warnings: [] };
  const host = URL.canParse(url) ? new URL(url).host : '';
  return {
    url: null,
    warnings: [`the link of the template is not allowed; its host is ${JSON.stringify(cut(host, limits.maxMessageValueChars))}`],
  };
}

/**
 * Renders an email with the templates of a configuration, or the built-in texts. Every text of the result is bounded and escaped, whatever the
 * variables are; the HTML has at most limits.maxEmailBytes bytes.
 */
export async function renderEmail(config: MessageConfig, variables: MessageVariables, links: MessageLinks): Promise<RenderedEmail> {
  const { messages } = config.document;
  const bounded = boundVariables(variables);
  const locale = localeOf(config, bounded, 'body');
  const subject = renderLine(config, bounded, 'subject', limits.maxSubjectChars);
  const paragraphs = renderParagraphs(config, bounded);
  const { url, warnings } = targetOf(config, bounded, limits.maxMessageLinkChars);
  const text = renderLine(config, bounded, 'button', limits.maxButtonChars);
  const dir = directionOf(locale);
  const words = wordsFor(locale);
  const view = {
    ...{ locale, dir, start: dir === 'rtl' ? 'right' : 'left', end: dir === 'rtl' ? 'left' : 'right' },
    ...{ subject, paragraphs, words },
    heading: renderLine(config, bounded, 'heading', limits.maxHeadingChars),
    preheader: cut(paragraphs.flat().join(' '), limits.maxPreheaderChars),
    brand: brandView(messages),
    colors: brandColors(messages),
    ...detailsView(bounded, locale, words),
    button: url === null || text === '' ? null : { text, url: await links.click(url) },
    reason: words.reasons[bounded.type],
    unsubscribeUrl: links.unsubscribeUrl,
  };
  return { subject, ...renderLayout(view), warnings };
}

/** Renders a push notification with the templates of a configuration, or the built-in texts; bounded as an email is. */
export function renderPush(config: MessageConfig, variables: MessageVariables): RenderedPush {
  const bounded = boundVariables(variables);
  return {
    title: renderLine(config, bounded, 'pushTitle', limits.maxPushTitleChars),
    body: renderLine(config, bounded, 'pushBody', limits.maxPushBodyChars),
    ...targetOf(config, bounded, limits.maxPushLinkChars),
  };
}
