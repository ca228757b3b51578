import type Router from '@koa/router';
import type Koa from 'koa';
import { isAllowedLink } from '../../config/schema/links.js';
import { type Channel, type NotificationType } from '../../config/schema/message-types.js';
import type { MessageSettings } from '../../config/schema/model.js';
import type { Engine } from '../../engine/engine.js';
import type { HistoryReader } from '../../history/reader.js';
import { configuredChannels } from '../../messages/rules/channels.js';
import type { ClickCounter } from '../../messages/feedback/clicks.js';
import type { Confirmations } from '../../messages/addresses/confirmations.js';
import type { LinkTarget, Links } from '../../messages/addresses/links.js';
import {
  type Box,
  type MessagePreferences,
  readMessagePreferences,
  readOwner,
  saveMessagePreferences,
  subscribe,
} from '../../messages/feedback/preferences.js';
import { nameWithoutLinks } from '../../messages/render/bounds.js';
import { LaurelError } from '../../shared/errors.js';
import { userFields } from '../../redis/contract.js';
import { limits } from '../../shared/limits.js';
import { formReader, textReader } from '../body.js';
import { type BoxView, type PageBrand, type PreferencesView, sendPage } from './page.js';

export interface PageServices {
  readonly engine: Engine;
  readonly history: HistoryReader;
  readonly links: Links;
  readonly clicks: ClickCounter;
  readonly confirmations: Confirmations;
}

const typeTitles: Readonly<Record<NotificationType, string>> = {
  achievement_completed: 'Achievements',
  recap: 'Recaps',
  reactivation: 'Reminders after a break',
  streak_reminder: 'Streak reminders',
};
const channelLabels: Readonly<Record<Channel, string>> = { email: 'By email', push: 'On your device' };

const brandOf = ({ brandName, brandColor, brandLogoUrl, brandUrl }: MessageSettings): PageBrand => ({
  name: brandName,
  color: brandColor,
  logoUrl: brandLogoUrl,
  url: brandUrl,
});

/** Boxes for what the tenant sends, and for push only if the user has a device. */
function viewOf(token: string, preferences: MessagePreferences, notice: string | null): PreferencesView {
  const { name, hasAddress, isSubscribed, hasDevices, notifications, document } = preferences;
  const boxOf = (type: NotificationType, channel: Channel): BoxView => ({
    name: `${type}:${channel}` satisfies Box,
    label: channelLabels[channel],
    isChecked: notifications.get(type)?.includes(channel) === true,
  });
  const groups = Array.from(notifications.keys(), (type) => ({
    title: typeTitles[type],
    boxes: configuredChannels(document, type)
      .filter((channel) => channel === 'email' || hasDevices)
      .map((channel) => boxOf(type, channel)),
  }));
  return {
    token,
    user: name,
    isSubscribed,
    notice,
    emails: hasAddress ? { name: 'emails' satisfies Box, label: 'Send me emails', isChecked: isSubscribed } : null,
    groups: groups.filter(({ boxes }) => boxes.length > 0),
  };
}

/** The request to a page, with the parameters of its path. */
type PageContext = Koa.Context & { readonly params: Readonly<Record<string, string>> };

const tokenOf = ({ params }: PageContext): string => params['token'] ?? '';

/** Shows the preferences of a user. */
async function showPreferences(context: PageContext, { engine }: PageServices, target: LinkTarget, notice: string | null): Promise<void> {
  const preferences = await readMessagePreferences(engine, target);
  const title = 'Message preferences';
  if (!preferences) {
    const { document } = await engine.config(target.tenant);
    sendPage(context, 200, { title, brand: brandOf(document.messages), sentence: goneSentence, preferences: null });
    return;
  }
  const view = viewOf(tokenOf(context), preferences, notice);
  sendPage(context, 200, { title, brand: brandOf(preferences.document.messages), sentence: null, preferences: view });
}

/** Shows the page that confirms an address, and confirms it if the user has pressed the button. Throws a 503 while Postgres lacks the user. */
async function showConfirmation(context: PageContext, services: PageServices, isPressed: boolean): Promise<void> {
  const { engine, history, links, confirmations } = services;
  const target = await links.readConfirmation(tokenOf(context));
  if (!target) throw unknownLink();
  const { tenant, user } = target;
  context.state['tenant'] = tenant;
  const state = await readOwner(engine, target);
  const address = state?.profile[userFields.email] ?? '';
  if (state && (await links.hash(address)) !== target.addressHash) {
    throw new LaurelError('not_found', 'This link is no longer valid: the account has another email address now.');
  }
  if (state && isPressed) {
    await history.waitFor(tenant, state.ledgerId);
    await confirmations.noteConfirmed({ tenant, user, address });
  }
  const { document } = await engine.config(tenant);
  const { brandName, brandColor: color } = document.messages;
  // The reader may be a stranger, whose address a tenant has entered: no image and no link of the tenant, as in the email.
  const brand = { name: nameWithoutLinks(brandName), color, logoUrl: null, url: null };
  const [title, sentence] = !state
    ? ['Email address', goneSentence]
    : isPressed
      ? ['Your email address is confirmed', `${brand.name} may send you emails now. Each has a link to choose what you receive.`]
      : ['Confirm your email address', `Confirm that this address is yours, so that ${brand.name} may send you emails.`];
  const confirm = state && !isPressed ? { token: tokenOf(context), label: 'Confirm the address' } : null;
  sendPage(context, 200, { title, brand, sentence, preferences: null, confirm });
}

const goneSentence = 'This account no longer exists. It receives no messages.';

const unknownLink = (): LaurelError =>
  new LaurelError('not_found', 'This link is not valid. Open it from the email again, or copy all of it.');

const outdatedLink = (): LaurelError =>
  new LaurelError('not_found', 'This link is no longer valid. Open the link of a newer email, which leads to your preferences.');

/** Reads any body up to a limit: providers send RFC 8058's form in either of two encodings. */
const readAny = textReader(limits.maxPageBodyBytes);
const readForm = formReader(limits.maxPageBodyBytes);

/**
 * The pages behind the links of emails. They need no key: a link is signed. `GET` never changes anything, since mail scanners open links; `POST`
 * to an unsubscribe link is the one click of RFC 8058, and what the button of the page sends.
 */
export function messagePageRoutes(router: Router, services: PageServices): void {
  const { engine, links, clicks } = services;
  const targetOf = async (context: PageContext): Promise<LinkTarget> => {
    const target = await links.readUnsubscribe(tokenOf(context));
    if (!target) throw unknownLink();
    context.state['tenant'] = target.tenant;
    const isProven = target.created !== null || (await links.isStored(target));
    // The link may be of a former user with this id. Without a user, the page says that the account is gone.
    if (!isProven && (await readOwner(engine, target))) throw outdatedLink();
    return target;
  };
  router.get('/m/u/:token', async (context) => {
    await showPreferences(context, services, await targetOf(context), context.querystring === 'saved' ? 'Saved.' : null);
  });
  router.post('/m/u/:token', readAny, async (context) => {
    const target = await targetOf(context);
    await subscribe(engine, target, false);
    await showPreferences(context, services, target, 'You are unsubscribed from all emails.');
  });
  router.post('/m/u/:token/preferences', readForm, async (context) => {
    const target = await targetOf(context);
    const { rawBody } = context.request;
    const sent = new URLSearchParams(typeof rawBody === 'string' ? rawBody : '');
    await saveMessagePreferences(engine, target, { shown: new Set(sent.getAll('shown')), checked: new Set(sent.getAll('on')) });
    context.status = 303;
    // Relative, since a proxy may add a path before /m.
    context.set({ Location: `../${tokenOf(context)}?saved`, 'Cache-Control': 'no-store' });
    context.body = '';
  });
  // A link of an email whose user confirms the address with the button, since mail scanners open links.
  router.get('/m/k/:token', async (context) => {
    await showConfirmation(context, services, false);
  });
  router.post('/m/k/:token', readAny, async (context) => {
    await showConfirmation(context, services, true);
  });
  router.get('/m/c/:token', async (context) => {
    const click = await links.readClick(tokenOf(context));
    if (!click) throw unknownLink();
    context.state['tenant'] = click.tenant;
    const { document } = await engine.config(click.tenant);
    if (!isAllowedLink(document.messages, click.url)) {
      throw new LaurelError('forbidden', 'This link leads to a site that the sender no longer allows.');
    }
    if (context.method === 'GET') clicks.count(click);
    context.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
    context.redirect(click.url);
  });
}
