import { limits } from '../../shared/limits.js';
import { boundVariables, cut, oneLine, paragraphsOf } from './bounds.js';
import { renderLayout } from './layout.js';
import { directionOf } from './locales.js';
import { isAllowedLink } from '../../config/schema/links.js';
import type { SwitchedOff } from './rendering.js';
import { type MessageConfig, localeOf, renderTexts } from './texts.js';
import type { MessageVariables } from './variables.js';
import { brandColors, brandView, detailsView } from './view.js';
import { wordsFor } from './words.js';

/** The links of an email: what a click leads through, and the link to unsubscribe, if there is one. */
export interface MessageLinks {
  readonly click: (url: string) => Promise<string> | string;
  readonly unsubscribeUrl: string | null;
}

/** Why something that a template has was left out; for the log, without personal data. */
type Warnings = readonly string[];

export interface RenderedEmail {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly warnings: Warnings;
}

export interface RenderedPush {
  readonly title: string;
  readonly body: string;
  /** What the app opens; null for its start. */
  readonly url: string | null;
  readonly warnings: Warnings;
}

/** Where a message leads, or null and why. */
interface Target {
  readonly url: string | null;
  readonly warnings: Warnings;
}

/** The template's link, or that of the brand. A link to a host that is not allowed is left out. */
function targetOf({ document: { messages } }: MessageConfig, buttonUrl: string, maxChars: number): Target {
  const url = buttonUrl.trim() || (messages.brandUrl ?? '');
  if (url === '') return { url: null, warnings: [] };
  if (url.length > maxChars) return { url: null, warnings: [`the link of the template is longer than ${maxChars} characters`] };
  if (isAllowedLink(messages, url)) return { url, warnings: [] };
  const host = URL.canParse(url) ? new URL(url).host : '';
  return {
    url: null,
    warnings: [`the link of the template is not allowed; its host is ${JSON.stringify(cut(host, limits.maxMessageValueChars))}`],
  };
}

const emailFields = ['subject', 'heading', 'body', 'button', 'buttonUrl'] as const;
const pushFields = ['pushTitle', 'pushBody', 'buttonUrl'] as const;

/**
 * Renders an email with the templates of a configuration, or the built-in texts. Every text of the result is bounded and escaped, whatever the
 * variables are; the HTML has at most limits.maxEmailBytes bytes. Throws a TextOverrun; `off` as of renderFields (rendering.ts).
 */
export async function renderEmail(
  config: MessageConfig,
  variables: MessageVariables,
  links: MessageLinks,
  off?: SwitchedOff,
): Promise<RenderedEmail> {
  const { messages } = config.document;
  const bounded = boundVariables(variables);
  const locale = localeOf(config, bounded, 'body');
  const texts = await renderTexts(config, bounded, emailFields, off);
  const subject = oneLine(texts.subject, limits.maxSubjectChars);
  const paragraphs = paragraphsOf(texts.body, limits.maxMessageBodyChars, limits.maxMessageParagraphs);
  const { url, warnings } = targetOf(config, texts.buttonUrl, limits.maxMessageLinkChars);
  const text = oneLine(texts.button, limits.maxButtonChars);
  const dir = directionOf(locale);
  const words = wordsFor(locale);
  const view = {
    locale,
    dir,
    start: dir === 'rtl' ? 'right' : 'left',
    end: dir === 'rtl' ? 'left' : 'right',
    subject,
    paragraphs,
    words,
    heading: oneLine(texts.heading, limits.maxHeadingChars),
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

/** Renders a push notification with the templates of a configuration, or the built-in texts; bounded as an email is. Throws as renderEmail. */
export async function renderPush(config: MessageConfig, variables: MessageVariables, off?: SwitchedOff): Promise<RenderedPush> {
  const texts = await renderTexts(config, boundVariables(variables), pushFields, off);
  return {
    title: oneLine(texts.pushTitle, limits.maxPushTitleChars),
    body: oneLine(texts.pushBody, limits.maxPushBodyChars),
    ...targetOf(config, texts.buttonUrl, limits.maxPushLinkChars),
  };
}
