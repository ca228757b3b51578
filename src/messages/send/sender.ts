import type { Logger } from 'pino';
import type pg from 'pg';
import type { SummaryStores } from '../../engine/points.js';
import { removeDeviceToken } from '../../engine/users.js';
import type { AttemptRecord, AttemptResult, ClaimedDelivery } from '../../deliveries/queue.js';
import { FailureLog, isStoreTrouble } from '../../logging/failure-log.js';
import { userFields } from '../../redis/contract.js';
import { limits } from '../../shared/limits.js';
import type { Channel } from '../../config/schema/message-types.js';
import type { ConfirmationSender } from './confirmation-email.js';
import { ageMs, maxAgeMs, whySkipped, whyWaiting } from './eligibility.js';
import type { Links } from '../addresses/links.js';
import type { Email, Senders, SendResult } from './provider.js';
import type { StoredNotification } from '../rules/notification.js';
import { parseToken, type PushProvider, pushProviders } from '../../shared/device-tokens.js';
import { readVariables, type UserVariables } from '../render/read-variables.js';
import { renderEmail, renderPush } from '../render/render.js';
import { type SwitchedOff, TextOverrun } from '../render/rendering.js';
import type { Suppressions } from '../addresses/suppressions.js';
import { SwitchedOffTemplates } from './switched-off.js';

export interface SenderOptions {
  readonly stores: SummaryStores;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** MESSAGES: `log` sends nothing. */
  readonly mode: 'log' | 'on';
  readonly senders: Senders;
  readonly links: Links;
  readonly suppressions: Suppressions;
  /** Undefined unless CONFIRM_ADDRESSES is on. */
  readonly confirming: ConfirmationSender | undefined;
}

/** A message to attempt: its delivery, and the user and state that it is rendered for. */
interface Rendering extends UserVariables {
  readonly tenant: number;
  readonly user: string;
  readonly delivery: ClaimedDelivery;
  readonly message: StoredNotification;
  readonly off: SwitchedOff;
}

/** Makes the record of an attempt, with its duration until now. */
type RecordOf = (result: Omit<AttemptRecord, 'durationMs'>) => AttemptRecord;

/** The delay after a failed attempt, by the number of attempts before it. */
const retryAfterMs = (attempts: number): number => Math.min(limits.messageFirstRetryMs * 2 ** attempts, limits.messageRetryMs);

/** The result of a failed attempt at a time of the engine's clock: a retry, unless the message would be too old by then. */
function retried({ attempts }: ClaimedDelivery, message: StoredNotification, now: number, record: AttemptRecord): AttemptResult {
  const retryMs = retryAfterMs(attempts);
  const isOver = ageMs(message, now) + retryMs > maxAgeMs(message.about.type);
  return isOver ? { status: 'failed', record } : { status: 'pending', retryMs, record };
}

/** What sends a message: the SMTP server, or the provider of a device. */
export type Provider = 'smtp' | PushProvider;

const providers: readonly Provider[] = ['smtp', ...pushProviders];
const channelOf = (provider: Provider): Channel => (provider === 'smtp' ? 'email' : 'push');
const providerOf = ({ token }: StoredNotification): Provider => (token === undefined ? 'smtp' : parseToken(token).provider);

/** Sends messages to users, each rendered for the user's state at that moment (docs/messages.md). */
export class Sender {
  private readonly options: SenderOptions;
  private readonly failures: FailureLog;
  private readonly switchedOff: SwitchedOffTemplates;
  /** The providers that refused or failed at the last attempt, whatever the message. */
  private readonly unavailable = new Set<Provider>();

  constructor(options: SenderOptions) {
    this.options = options;
    this.switchedOff = new SwitchedOffTemplates(options.pool, options.log);
    this.failures = new FailureLog(options.log, {
      failed: 'message provider unavailable, will retry',
      recovered: 'message provider available again',
      level: 'error',
    });
  }

  /** Whether a channel can send: it has a provider, and none that refused the last attempt as a whole. */
  isUp(channel: Channel): boolean {
    return this.isOn(channel) && ![...this.unavailable].some((provider) => channelOf(provider) === channel);
  }

  /** Whether attempts are made by a channel. */
  isOn(channel: Channel): boolean {
    const { mode, senders } = this.options;
    return mode === 'log' || senders[channel] !== undefined;
  }

  /**
   * Attempts a delivery: checks once more whether it may be sent, renders it, and sends or logs it. Throws only while a store is unavailable, and the
   * message is not too old.
   */
  async attempt(tenant: number, delivery: ClaimedDelivery): Promise<AttemptResult> {
    try {
      return await this.attemptOnce(tenant, delivery);
    } catch (error) {
      if (error instanceof TextOverrun) return this.templateOff(tenant, error);
      const message = JSON.parse(delivery.body) as StoredNotification;
      const now = await this.options.stores.clock.now(tenant);
      // What was read for the message may fail for days, and the message would be retried until its retention ends.
      if (isStoreTrouble(error) && ageMs(message, now) <= maxAgeMs(message.about.type)) throw error;
      this.options.log.error({ err: error, tenant, kind: delivery.kind }, 'message not rendered, will retry');
      const record = { durationMs: 0, status: null, answer: null, error: 'The message could not be rendered: see the log.' };
      return retried(delivery, message, now, record);
    }
  }

  /** The outcome of a message whose template passes the limits of rendering, which no attempt can change. */
  private async templateOff(tenant: number, overrun: TextOverrun): Promise<AttemptResult> {
    await this.switchedOff.add(tenant, overrun);
    const error = `The template ${JSON.stringify(overrun.template.key)} is switched off: it is too expensive to render (${overrun.field}).`;
    return { status: 'failed', record: { durationMs: 0, status: null, answer: null, error } };
  }

  private async attemptOnce(tenant: number, delivery: ClaimedDelivery): Promise<AttemptResult> {
    const begun = performance.now();
    const recordOf: RecordOf = (result) => ({
      durationMs: Math.round(performance.now() - begun),
      ...result,
    });
    const skipped = (error: string): AttemptResult => ({ status: 'skipped', record: recordOf({ status: null, answer: null, error }) });
    const message = JSON.parse(delivery.body) as StoredNotification;
    const { user } = delivery;
    const { stores, mode } = this.options;
    const read = user === null ? undefined : await readVariables(stores, { tenant }, { user }, message.about);
    if (user === null || !read) return skipped('The user was deleted.');
    const rendering: Rendering = { ...read, tenant, user, delivery, message, off: await this.switchedOff.of(tenant) };
    const reason = await this.whySkipped(rendering);
    if (reason !== undefined) return skipped(reason);
    const wait = whyWaiting(read.state, message);
    if (wait) {
      if (wait.until === undefined) return skipped('Quiet hours cover all hours of messages of this type.');
      const record = recordOf({ status: null, answer: null, error: wait.reason });
      return { status: 'pending', retryMs: wait.until - read.state.now, record };
    }
    const unconfirmed = await this.confirmFirst(rendering, recordOf);
    if (unconfirmed) return unconfirmed;
    if (mode === 'log') {
      await this.logInstead(rendering);
      return { status: 'logged', record: recordOf({ status: null, answer: null, error: null }) };
    }
    return this.resultOf(rendering, await this.send(rendering), recordOf);
  }

  private async whySkipped({ tenant, user, state, message }: Rendering): Promise<string | undefined> {
    const { pool, suppressions } = this.options;
    const reason = await whySkipped(pool, state, user, message);
    if (reason !== undefined || message.channel !== 'email') return reason;
    const isSuppressed = await suppressions.has(tenant, state.profile[userFields.email] ?? '');
    return isSuppressed ? 'The address is suppressed.' : undefined;
  }

  /** In place of the first email to an address, the user is asked to confirm it; until then, emails are skipped. Undefined if the address needs no confirmation. */
  private async confirmFirst(rendering: Rendering, recordOf: RecordOf): Promise<AttemptResult | undefined> {
    const { confirming } = this.options;
    const { tenant, user, state, message, variables } = rendering;
    if (!confirming || message.channel !== 'email') return undefined;
    const { status } = await confirming.confirmations.find({ tenant, user, address: state.profile[userFields.email] ?? '' });
    if (status === 'confirmed') return undefined;
    const skipped = (why: string): AttemptResult => ({
      status: 'skipped',
      record: recordOf({ status: null, answer: null, error: `The address is not confirmed${why}.` }),
    });
    if (status === 'sent') return skipped('');
    const result = await confirming.send({ tenant, user, state, locale: variables.locale, isAsked: false });
    if (result.kind === 'limited') return skipped(`: ${result.reason}`);
    if (result.kind === 'none') return skipped(`: ${result.detail}`);
    if (result.kind === 'accepted') this.watch('smtp', result.kind, result.detail);
    return result.kind === 'accepted' ? skipped(': a confirmation was sent instead') : this.resultOf(rendering, result, recordOf);
  }

  /** Renders an email with the links of its delivery. */
  private async renderEmail({ tenant, user, delivery: { id }, state, variables, off }: Rendering): Promise<Omit<Email, 'id' | 'to'>> {
    const { links, log } = this.options;
    const created = Number(state.profile[userFields.created]);
    const unsubscribeUrl = await links.unsubscribeUrl({ tenant, user, created, delivery: id });
    const click = (url: string): Promise<string> => links.clickUrl({ tenant, delivery: id, url });
    const { subject, html, text, warnings } = await renderEmail(state.config, variables, { click, unsubscribeUrl }, off);
    for (const warning of warnings) log.warn({ tenant, type: variables.type, warning }, 'message sent without its link');
    return { subject, html, text, unsubscribeUrl };
  }

  private async logInstead(rendering: Rendering): Promise<void> {
    const { tenant, user, message, state, variables, off } = rendering;
    const isEmail = message.channel === 'email';
    const subject = isEmail ? (await this.renderEmail(rendering)).subject : (await renderPush(state.config, variables, off)).title;
    this.options.log.info({ tenant, type: variables.type, channel: message.channel, user, subject }, 'message not sent: MESSAGES=log');
  }

  private async send(rendering: Rendering): Promise<SendResult> {
    const { email, push } = this.options.senders;
    const { tenant, user, delivery, message, state, variables, off } = rendering;
    const { id } = delivery;
    if (message.channel === 'email' && email) {
      return email.send({ id, to: state.profile[userFields.email] ?? '', ...(await this.renderEmail(rendering)) });
    }
    if (message.channel === 'push' && push) {
      const { title, body, url } = await renderPush(state.config, variables, off);
      const { brandIconUrl: icon } = state.config.document.messages;
      return push.send({ id, token: message.token ?? '', title, body, url, icon }, { tenant, user });
    }
    return { kind: 'unavailable', status: null, detail: `The channel ${message.channel} is off.` };
  }

  private async resultOf(
    { tenant, user, state, message, delivery }: Rendering,
    { kind, isGone = false, status, detail }: SendResult,
    recordOf: RecordOf,
  ): Promise<AttemptResult> {
    this.watch(providerOf(message), kind, detail);
    if (kind === 'accepted') return { status: 'delivered', record: recordOf({ status, answer: detail, error: null }) };
    const record = recordOf({ status, answer: null, error: detail });
    if (kind === 'permanent') {
      if (isGone) await this.forgetAddress(tenant, user, message, state.profile[userFields.email] ?? '');
      return { status: 'failed', record };
    }
    return retried(delivery, message, state.now, record);
  }

  /** Suppresses an address, or removes a device token, that the provider calls invalid for good. */
  private async forgetAddress(tenant: number, user: string, { token }: StoredNotification, address: string): Promise<void> {
    const { stores, suppressions } = this.options;
    if (token !== undefined) await removeDeviceToken(stores.engine, tenant, user, token);
    else await suppressions.add(tenant, address, 'refused');
  }

  /** Counts a provider as unavailable whose credentials can't be used; the caller logs why. */
  switchOff(provider: Provider): void {
    this.unavailable.add(provider);
  }

  /** Reports a provider that can't be reached or refuses the login, before any message was attempted. */
  reportUnavailable(provider: Provider, detail: string): void {
    this.watch(provider, 'unavailable', detail);
  }

  /** Logs a provider that becomes unavailable or available. */
  private watch(provider: Provider, kind: SendResult['kind'], detail: string | null): void {
    const no = providers.indexOf(provider);
    const fields = { channel: channelOf(provider), provider };
    if (kind === 'unavailable') {
      this.unavailable.add(provider);
      this.failures.failed(no, new Error(detail ?? 'no answer'), fields);
      return;
    }
    this.unavailable.delete(provider);
    this.failures.succeeded(no, fields);
  }
}
