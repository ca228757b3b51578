import type { KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { Pool } from 'undici';
import { z } from 'zod';
import { OperatorError } from '../../../shared/errors.js';
import { limits } from '../../../shared/limits.js';
import { readPrivateKey } from '../key-files.js';
import { type Push, type SendResult, detailOf } from '../provider.js';
import { parseToken } from '../../../shared/device-tokens.js';
import { type PushTransport, close, post, timeouts, unreachable } from './transport.js';

export interface ApnsSettings {
  readonly apnsKeyFile: string;
  readonly apnsKeyId: string;
  readonly apnsTeamId: string;
  readonly apnsTopic: string;
  readonly apnsHost: string;
}

const errorSchema = z.object({ reason: z.string() });

/** Reasons that also mean a wrong APNS_HOST or APNS_TOPIC. */
const ambiguous = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic']);

/**
 * APNs' response as a result. `hasAccepted`: whether it has accepted a push from this process, which proves the settings; with a wrong host or topic, it
 * refuses every token, and none of them is gone.
 */
function apnsResult(status: number, body: unknown, hasAccepted: boolean): SendResult {
  if (status === 200) return { kind: 'accepted', status, detail: null };
  const reason = errorSchema.safeParse(body).data?.reason ?? 'no reason';
  const result = { status, detail: detailOf(reason) };
  if (status === 410) return { kind: 'permanent', isGone: true, ...result };
  if (ambiguous.has(reason)) return { kind: 'permanent', isGone: hasAccepted, ...result };
  if (status === 429 || status >= 500) return { kind: 'temporary', ...result };
  return status === 403 || status === 405 || status === 404
    ? { kind: 'unavailable', ...result }
    : { kind: 'permanent', isGone: false, ...result };
}

/** Apple Push Notification service, with a token of a key (.p8). */
export class ApnsTransport implements PushTransport {
  private readonly settings: ApnsSettings;
  private readonly key: KeyObject;
  private readonly pool: Pool;
  private token: { readonly text: Promise<string>; readonly at: number } | undefined;
  private hasAccepted = false;

  /** Throws an OperatorError for an unusable key. Does not connect. `ca` is for tests. */
  constructor(settings: ApnsSettings, { ca }: { readonly ca?: string } = {}) {
    const key = readPrivateKey('APNS_KEY_FILE', settings.apnsKeyFile);
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
      throw new OperatorError("APNS_KEY_FILE must name Apple's key for push notifications, a .p8 file.");
    }
    this.settings = settings;
    this.key = key;
    this.pool = new Pool(`https://${settings.apnsHost}`, {
      ...timeouts,
      connect: { ...timeouts.connect, ...(ca === undefined ? {} : { ca }) },
      allowH2: true,
      connections: limits.apnsConnections,
      pipelining: limits.apnsConcurrency,
    });
  }

  async send(push: Push): Promise<SendResult> {
    const { value } = parseToken(push.token);
    if (!/^[0-9a-f]+$/i.test(value)) return { kind: 'permanent', isGone: true, status: null, detail: 'the token is not hexadecimal' };
    try {
      const headers = { ...this.headersOf(push), authorization: `bearer ${await this.signIn()}` };
      const url = `https://${this.settings.apnsHost}/3/device/${value}`;
      const { status, body } = await post(this.pool, url, headers, payloadOf(push));
      if (status === 200) this.hasAccepted = true;
      const result = apnsResult(status, body, this.hasAccepted);
      // The next push signs in with a new one. Not after other refusals, since Apple limits how often that may be.
      if (result.detail === 'ExpiredProviderToken') this.token = undefined;
      return result;
    } catch (error) {
      return unreachable(error, [value]);
    }
  }

  async stop(): Promise<void> {
    await close(this.pool);
  }

  private headersOf({ id }: Push): Record<string, string> {
    return {
      'apns-topic': this.settings.apnsTopic,
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-id': id,
      // A push that is sent twice replaces itself on the device.
      'apns-collapse-id': id,
      'apns-expiration': String(Math.floor(Date.now() / 1000) + limits.pushLifetimeS),
    };
  }

  /** The token that signs Laurel in. Apple refuses tokens older than an hour, and new ones more often than every 20 minutes. */
  private signIn(): Promise<string> {
    const now = Date.now();
    if (!this.token || now - this.token.at >= limits.apnsTokenMs) {
      const { apnsKeyId: kid, apnsTeamId } = this.settings;
      const text = new SignJWT().setProtectedHeader({ alg: 'ES256', kid }).setIssuer(apnsTeamId).setIssuedAt().sign(this.key);
      this.token = { text, at: now };
    }
    return this.token.text;
  }
}

const payloadOf = ({ id, title, body, url }: Push): object => ({
  aps: { alert: { title, body }, sound: 'default' },
  messageId: id,
  ...(url === null ? {} : { url }),
});
