import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type RequestListener, createServer } from 'node:http';
import { type Http2ServerRequest, type Http2ServerResponse, createSecureServer } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import { pem } from './tls.js';

/** Stand-ins for Expo, FCM and APNs that check protocol, credentials and payload as the real ones do. Stop them in an `after` hook. */

/** A push as a provider received and accepted it. */
interface ReceivedPush {
  readonly token: string;
  // Tests look into it by path.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
  readonly headers: IncomingHttpHeaders;
}

/** The response to a request, in place of the usual one; `hang` for none. */
type Failure = { readonly status: number; readonly body: unknown } | 'hang';

interface StandIn {
  /** Accepted pushes. */
  readonly pushes: ReceivedPush[];
  /** Responses to later requests, each used once, before the request is looked at. */
  readonly failures: Failure[];
  stop(): Promise<void>;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function read(request: IncomingMessage | Http2ServerRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
}

type Answer = Exclude<Failure, 'hang'>;
type Respond = (path: string, body: string, headers: IncomingHttpHeaders) => Answer | Promise<Answer>;

/** Responds to POST requests with JSON. */
function listener(failures: Failure[], respond: Respond) {
  return async (
    request: IncomingMessage | Http2ServerRequest,
    response: Parameters<RequestListener>[1] | Http2ServerResponse,
  ): Promise<void> => {
    const body = await read(request);
    const path = request.url ?? '';
    const isToken = path === '/token';
    const failure = isToken ? undefined : failures.shift();
    if (failure === 'hang') return;
    const { status, body: answer } = failure ?? (await respond(request.method === 'POST' ? path : '', body, request.headers));
    (response as Parameters<RequestListener>[1]).writeHead(status, { 'content-type': 'application/json' });
    (response as Parameters<RequestListener>[1]).end(answer === null ? '' : JSON.stringify(answer));
  };
}

async function serveHttp(failures: Failure[], respond: Respond): Promise<{ url: string; stop(): Promise<void> }> {
  const answer = listener(failures, respond);
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface ExpoStandIn extends StandIn {
  /** For EXPO_URL. */
  readonly url: string;
  /** How many pushes each accepted request had. */
  readonly batches: number[];
  /** Tickets with an error, by token: its code. */
  readonly errors: Map<string, string>;
  /** Tokens of another project: a request with them and others is refused as a whole. */
  readonly otherProject: Set<string>;
  /** The tickets of accepted pushes, by token. */
  readonly tickets: Map<string, string>;
  /** By ticket: `ok` or the code of an error. */
  readonly receipts: Map<string, string>;
}

const expoMessages = z
  .array(
    z.strictObject({
      to: z.string(),
      title: z.string(),
      body: z.string(),
      sound: z.literal('default'),
      ttl: z.number().int(),
      collapseId: z.uuid(),
      tag: z.uuid(),
      data: z.record(z.string(), z.string()),
    }),
  )
  .max(100);

export async function startExpo({ accessToken }: { readonly accessToken?: string } = {}): Promise<ExpoStandIn> {
  const pushes: ReceivedPush[] = [];
  const failures: Failure[] = [];
  const batches: number[] = [];
  const errors = new Map<string, string>();
  const otherProject = new Set<string>();
  const tickets = new Map<string, string>();
  const receipts = new Map<string, string>();
  const refusal = (status: number, code: string): Answer => ({ status, body: { errors: [{ code, message: `refused: ${code}` }] } });
  const described = (code: string, token: string): object => ({
    status: 'error',
    message: `"${token}" is refused`,
    details: { error: code },
  });
  const send = (body: string, headers: IncomingHttpHeaders): Answer => {
    const parsed = expoMessages.safeParse(JSON.parse(body));
    if (!parsed.success) return refusal(400, 'VALIDATION_ERROR');
    const others = parsed.data.filter(({ to }) => otherProject.has(to)).length;
    if (others > 0 && others < parsed.data.length) return refusal(400, 'PUSH_TOO_MANY_EXPERIENCE_IDS');
    batches.push(parsed.data.length);
    const data = parsed.data.map((message) => {
      const code = errors.get(message.to);
      if (code !== undefined) return described(code, message.to);
      const id = randomUUID();
      tickets.set(message.to, id);
      pushes.push({ token: message.to, body: message, headers });
      return { status: 'ok', id };
    });
    return { status: 200, body: { data } };
  };
  const receiptsOf = (body: string): Answer => {
    const { ids } = z.object({ ids: z.array(z.string()).max(1_000) }).parse(JSON.parse(body));
    const known = ids.flatMap((id) => {
      const receipt = receipts.get(id);
      return receipt === undefined ? [] : [[id, receipt === 'ok' ? { status: 'ok' } : described(receipt, 'token')] as const];
    });
    return { status: 200, body: { data: Object.fromEntries(known) } };
  };
  const server = await serveHttp(failures, (path, body, headers) => {
    if (accessToken !== undefined && headers.authorization !== `Bearer ${accessToken}`) return refusal(401, 'UNAUTHORIZED');
    if (path === '/--/api/v2/push/send') return send(body, headers);
    return path === '/--/api/v2/push/getReceipts' ? receiptsOf(body) : refusal(404, 'NOT_FOUND');
  });
  return { ...server, pushes, failures, batches, errors, otherProject, tickets, receipts };
}

export interface FcmStandIn extends StandIn {
  /** For FCM_URL. */
  readonly url: string;
  /** The content of FCM_CREDENTIALS_FILE. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Errors by token: the response. */
  readonly errors: Map<string, Answer>;
  /** How many access tokens it issued. */
  issued(): number;
  /** Forgets all access tokens. */
  expire(): void;
}

/** FCM's error body with an error code. */
export const fcmError = (status: number, name: string, errorCode: string, message = 'refused'): Answer => ({
  status,
  body: {
    error: {
      code: status,
      status: name,
      message,
      details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }],
    },
  },
});

const fcmMessage = z.strictObject({
  message: z.strictObject({
    token: z.string(),
    notification: z.strictObject({ title: z.string(), body: z.string() }),
    data: z.record(z.string(), z.string()),
    android: z.strictObject({ ttl: z.string().regex(/^\d+s$/), notification: z.strictObject({ tag: z.string() }) }),
    webpush: z.strictObject({ notification: z.strictObject({ icon: z.url() }) }).optional(),
    apns: z.strictObject({ headers: z.strictObject({ 'apns-collapse-id': z.string().max(64) }) }),
  }),
});

/** Of the service account; generating one takes a while. */
let accountKeys: ReturnType<typeof newAccountKeys> | undefined;
const newAccountKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

export async function startFcm(): Promise<FcmStandIn> {
  accountKeys ??= newAccountKeys();
  const { privateKey, publicKey } = accountKeys;
  const pushes: ReceivedPush[] = [];
  const failures: Failure[] = [];
  const errors = new Map<string, Answer>();
  const accessTokens = new Set<string>();
  let issued = 0;
  const email = 'laurel@game.iam.gserviceaccount.com';
  const sign = async (body: string): Promise<Answer> => {
    const form = new URLSearchParams(body);
    const audience = 'https://oauth2.googleapis.com/token';
    const { payload } = await jwtVerify(form.get('assertion') ?? '', publicKey, { algorithms: ['RS256'], audience, issuer: email });
    const isRight =
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      payload['scope'] === 'https://www.googleapis.com/auth/firebase.messaging' &&
      (payload.exp ?? 0) - (payload.iat ?? 0) <= 3_600;
    if (!isRight) return { status: 400, body: { error: 'invalid_scope', error_description: 'wrong claims' } };
    issued += 1;
    const token = randomUUID();
    accessTokens.add(token);
    return { status: 200, body: { access_token: token, expires_in: 3_599, token_type: 'Bearer' } };
  };
  const send = (body: string, headers: IncomingHttpHeaders): Answer => {
    if (!accessTokens.has(headers.authorization?.replace(/^Bearer /, '') ?? '')) return fcmError(401, 'UNAUTHENTICATED', 'UNAUTHENTICATED');
    const parsed = fcmMessage.safeParse(JSON.parse(body));
    if (!parsed.success) return fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', parsed.error.message);
    const { token } = parsed.data.message;
    const error = errors.get(token);
    if (error) return error;
    pushes.push({ token, body: parsed.data.message, headers });
    return { status: 200, body: { name: `projects/game/messages/${randomUUID()}` } };
  };
  const server = await serveHttp(failures, async (path, body, headers) => {
    if (path === '/token') {
      return sign(body).catch(() => ({ status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }));
    }
    return path === '/v1/projects/game/messages:send' ? send(body, headers) : { status: 404, body: null };
  });
  const credentials = {
    type: 'service_account',
    project_id: 'game',
    client_email: email,
    private_key_id: 'k1',
    token_uri: `${server.url}/token`,
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  return { ...server, pushes, failures, errors, credentials, issued: () => issued, expire: () => accessTokens.clear() };
}

export interface ApnsStandIn extends StandIn {
  /** For APNS_HOST: the certificate is that of test/support/tls/server.pem, whose authority is ca.pem. */
  readonly host: string;
  /** The content of APNS_KEY_FILE. */
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly topic: string;
  /** Refusals by token. */
  readonly errors: Map<string, { readonly status: number; readonly reason: string }>;
  /** The sign-in tokens that it saw. */
  readonly tokens: Set<string>;
  /** How many connections it has accepted. */
  connections(): number;
  /** Cuts all connections. */
  drop(): void;
}

export async function startApns(): Promise<ApnsStandIn> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const [keyId, teamId, topic] = ['ABC1234567', 'TEAM123456', 'com.example.game'];
  const pushes: ReceivedPush[] = [];
  const failures: Failure[] = [];
  const errors = new Map<string, { readonly status: number; readonly reason: string }>();
  const tokens = new Set<string>();
  const refusal = (status: number, reason: string): Answer => ({ status, body: { reason } });
  const respond: Respond = async (path, body, headers) => {
    const token = /^\/3\/device\/([0-9a-f]+)$/i.exec(path)?.[1];
    const signedIn = headers.authorization?.replace(/^bearer /, '') ?? '';
    tokens.add(signedIn);
    const verified = await jwtVerify(signedIn, publicKey, { algorithms: ['ES256'], issuer: teamId, maxTokenAge: '1h' }).catch(
      () => undefined,
    );
    if (verified?.protectedHeader.kid !== keyId) return refusal(403, 'InvalidProviderToken');
    if (token === undefined) return refusal(404, 'BadPath');
    if (headers['apns-topic'] !== topic) return refusal(400, 'DeviceTokenNotForTopic');
    if (headers['apns-push-type'] !== 'alert') return refusal(400, 'InvalidPushType');
    if (!z.uuid().safeParse(headers['apns-id']).success) return refusal(400, 'BadMessageId');
    if (Buffer.byteLength(body) > 4_096) return refusal(413, 'PayloadTooLarge');
    const error = errors.get(token);
    if (error) return refusal(error.status, error.reason);
    pushes.push({ token, body: JSON.parse(body) as unknown, headers });
    return { status: 200, body: null };
  };
  const answer = listener(failures, respond);
  const server = createSecureServer({ cert: pem('server'), key: pem('server.key') }, (request, response) => {
    answer(request, response).catch(() => response.stream.close());
  });
  const sessions = new Set<{ destroy(): void }>();
  let connections = 0;
  server.on('session', (session) => {
    connections += 1;
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('sessionError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const drop = (): void => {
    for (const session of sessions) session.destroy();
  };
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    drop();
    await closed;
  };
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const identity = { host: `127.0.0.1:${portOf(server)}`, key, keyId, teamId, topic };
  return { ...identity, pushes, failures, errors, tokens, drop, stop, connections: () => connections };
}
