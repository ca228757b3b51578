import { createPrivateKey } from 'node:crypto';
import { JWT } from 'google-auth-library';
import { type Agent, fetch } from 'undici';
import { z } from 'zod';
import { OperatorError } from '../../../shared/errors.js';
import { limits } from '../../../shared/limits.js';
import { readFile } from '../key-files.js';
import { type Push, type SendResult, detailOf } from '../provider.js';
import { parseToken } from '../../../shared/device-tokens.js';
import { type PushTransport, close, newAgent, post, unreachable } from './transport.js';

const scope = 'https://www.googleapis.com/auth/firebase.messaging';

const isPrivateKey = (text: string): boolean => {
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
};

const credentialsSchema = z.object({
  type: z.literal('service_account'),
  project_id: z.string().regex(/^[a-z0-9.:-]+$/),
  client_email: z.string().min(1),
  private_key: z.string().refine(isPrivateKey),
  private_key_id: z.string().optional(),
  token_uri: z.url({ protocol: /^https?$/ }),
});

type Credentials = z.output<typeof credentialsSchema>;

/** Reads the JSON key of a service account. Throws an OperatorError that names the invalid fields. */
function readCredentials(file: string): Credentials {
  const text = readFile('FCM_CREDENTIALS_FILE', file);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new OperatorError('FCM_CREDENTIALS_FILE must name the JSON key of a service account: the file is not JSON.');
  }
  const parsed = credentialsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = [...new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the object'))].join(', ');
  throw new OperatorError(`FCM_CREDENTIALS_FILE must name the JSON key of a service account: missing or invalid are ${fields}.`);
}

const errorSchema = z.object({
  error: z.object({
    status: z.string().default(''),
    message: z.string().default(''),
    details: z
      .array(z.object({ errorCode: z.string().optional(), fieldViolations: z.array(z.object({ field: z.string() })).optional() }))
      .default([]),
  }),
});

/** FCM's response as a result (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode). */
function fcmResult(status: number, body: unknown, personal: readonly string[]): SendResult {
  if (status === 200) return { kind: 'accepted', status, detail: null };
  const { error } = errorSchema.safeParse(body).data ?? { error: { status: '', message: '', details: [] } };
  const code = error.details.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? error.status;
  const result = { status, detail: detailOf(`${code}: ${error.message}`, personal) };
  const isAboutToken =
    error.details.some(({ fieldViolations }) => fieldViolations?.some(({ field }) => field === 'message.token')) ||
    /registration token is not a valid/i.test(error.message);
  if (code === 'UNREGISTERED' || (code === 'INVALID_ARGUMENT' && isAboutToken)) return { kind: 'permanent', isGone: true, ...result };
  // The token of another project, which may have the right credentials one day.
  if (code === 'SENDER_ID_MISMATCH') return { kind: 'permanent', isGone: false, ...result };
  if (status === 429 || status >= 500) return { kind: 'temporary', ...result };
  // A 404 without a code is not FCM's.
  if ([401, 403, 404].includes(status)) return { kind: 'unavailable', ...result };
  return { kind: 'permanent', isGone: false, ...result };
}

export interface FcmSettings {
  readonly fcmCredentialsFile: string;
  readonly fcmUrl: string;
}

/** Firebase Cloud Messaging, by its HTTP v1 API. */
export class FcmTransport implements PushTransport {
  private readonly url: URL;
  private readonly credentials: Credentials;
  private readonly agent: Agent = newAgent();
  /** Caches the access token, and requests a new one when it expires. */
  private account: JWT;

  /** Throws an OperatorError for unusable credentials. Does not connect. */
  constructor({ fcmCredentialsFile, fcmUrl }: FcmSettings) {
    this.credentials = readCredentials(fcmCredentialsFile);
    this.url = new URL(`/v1/projects/${this.credentials.project_id}/messages:send`, fcmUrl);
    this.account = this.newAccount();
  }

  async send(push: Push): Promise<SendResult> {
    const { value } = parseToken(push.token);
    const personal = [value];
    try {
      const { token } = await this.account.getAccessToken();
      const reply = await post(this.agent, this.url, { authorization: `Bearer ${token ?? ''}` }, { message: messageOf(push, value) });
      // The next push requests a new access token.
      if (reply.status === 401) this.account = this.newAccount();
      return fcmResult(reply.status, reply.body, personal);
    } catch (error) {
      return unreachable(error, personal);
    }
  }

  async stop(): Promise<void> {
    await close(this.agent);
  }

  private newAccount(): JWT {
    const { client_email: email, private_key: key, token_uri: tokenUri } = this.credentials;
    // The library always requests Google's own URL; the file names the same one, or a stand-in's.
    const fetchImplementation = (_url: unknown, init: unknown) =>
      fetch(tokenUri, { ...(init as Parameters<typeof fetch>[1]), dispatcher: this.agent });
    const transporterOptions = {
      fetchImplementation: fetchImplementation as unknown as typeof globalThis.fetch,
      timeout: limits.pushResponseMs,
    };
    return new JWT({ email, key, scopes: [scope], transporterOptions });
  }
}

function messageOf({ id, title, body, url, icon }: Push, token: string): object {
  return {
    token,
    notification: { title, body },
    data: { messageId: id, ...(url === null ? {} : { url }) },
    // A push that is sent twice replaces itself on the device.
    android: { ttl: `${limits.pushLifetimeS}s`, notification: { tag: id } },
    apns: { headers: { 'apns-collapse-id': id } },
    // Apps on phones bring their icons.
    ...(icon === null ? {} : { webpush: { notification: { icon } } }),
  };
}
