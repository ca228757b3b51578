import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { pem } from './tls.js';

/** An email that the server accepted. */
export interface ReceivedEmail {
  /** The envelope. */
  readonly from: string;
  readonly to: readonly string[];
  /** The message as sent, with CRLF. */
  readonly raw: string;
  /** Whether the connection used TLS. */
  readonly isSecure: boolean;
  /** Which connection it came through. */
  readonly connection: string;
  readonly at: number;
}

/** Where the server refuses: the greeting, AUTH, MAIL FROM, RCPT TO, or the reply after the message. */
export type MailStage = 'connect' | 'login' | 'from' | 'to' | 'data';

export interface Refusal {
  /** The reply's code; `hang` for no reply at all, `drop` for a connection that is cut. */
  readonly code: number | 'hang' | 'drop';
  /** The reply's text, with its enhanced status code if it has one: `5.1.1 No such user`. */
  readonly text?: string;
  /** Only for this recipient. Not at `connect` and `login`. */
  readonly to?: string;
  /** How many times; without it, until `accept` is called. */
  readonly times?: number;
}

export interface MailServerOptions {
  /** `starttls` offers it, `implicit` is for smtps://. Without it: plain text only. */
  readonly tls?: 'starttls' | 'implicit';
  /** The certificate of test/support/tls/README.md that it shows. */
  readonly certificate?: 'server' | 'elsewhere';
  /** The login that it requires. Without it: none. */
  readonly login?: { readonly user: string; readonly password: string };
  /** Bytes of the largest message that it accepts. */
  readonly maxBytes?: number;
  /** To start again where another one was. */
  readonly port?: number;
}

/** A real SMTP server on loopback. Stop it in an `after` hook. */
export interface MailServer {
  /** For SMTP_URL, with the login. */
  readonly url: string;
  readonly port: number;
  readonly messages: ReceivedEmail[];
  /** Resolves when it has accepted this many messages in all. */
  received(count: number): Promise<readonly ReceivedEmail[]>;
  refuse(stage: MailStage, refusal: Refusal): void;
  /** Ends all refusals. A command that hangs still gets no reply. */
  accept(): void;
  stop(): Promise<void>;
}

/** A received message as a mail client reads it. */
export const parseEmail = ({ raw }: ReceivedEmail): Promise<ParsedMail> => simpleParser(raw);

type Reply = (error?: Error | null) => void;

class Refusals {
  private readonly pending: { stage: MailStage; refusal: Refusal; used: number }[] = [];

  add(stage: MailStage, refusal: Refusal): void {
    this.pending.push({ stage, refusal, used: 0 });
  }

  clear(): void {
    this.pending.length = 0;
  }

  /** Replies at a stage, with an error if this stage refuses. `drop` cuts the connection. */
  reply(stage: MailStage, to: readonly string[], accept: () => void, { refuse, drop }: { refuse: Reply; drop: () => void }): void {
    const found = this.pending.find(
      ({ refusal, used, ...one }) =>
        one.stage === stage && used < (refusal.times ?? Infinity) && (refusal.to === undefined || to.includes(refusal.to)),
    );
    if (!found) {
      accept();
      return;
    }
    found.used += 1;
    const { code, text = 'Refused' } = found.refusal;
    if (code === 'drop') drop();
    else if (code !== 'hang') refuse(Object.assign(new Error(text), { responseCode: code }));
  }
}

async function readAll(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** The handlers of smtp-server. `keep` gets each message before the server acknowledges it. */
function handlersOf(
  refusals: Refusals,
  { login }: MailServerOptions,
  keep: (email: ReceivedEmail) => void,
  cut: (session: SMTPServerSession) => void,
): SMTPServerOptions {
  const how = (session: SMTPServerSession, refuse: Reply) => ({ refuse, drop: () => cut(session) });
  return {
    onConnect: (session, callback) => refusals.reply('connect', [], () => callback(), how(session, callback)),
    onAuth: ({ username, password }, session, callback) => {
      const isRight = username === login?.user && password === login?.password;
      const wrong = Object.assign(new Error('5.7.8 Wrong user or password'), { responseCode: 535 });
      const answer = (): void => (isRight ? callback(null, { user: username }) : callback(wrong));
      refusals.reply('login', [], answer, how(session, callback));
    },
    onMailFrom: (_address, session, callback) => refusals.reply('from', [], () => callback(), how(session, callback)),
    onRcptTo: ({ address }, session, callback) => refusals.reply('to', [address], () => callback(), how(session, callback)),
    onData: (stream, session, callback) => {
      const { mailFrom, rcptTo } = session.envelope;
      const to = rcptTo.map(({ address }) => address);
      const from = mailFrom === false ? '' : mailFrom.address;
      readAll(stream).then(
        (raw) => {
          const accept = (): void => {
            keep({ from, to, raw, isSecure: session.secure, connection: session.id, at: Date.now() });
            callback();
          };
          if (stream.sizeExceeded) callback(Object.assign(new Error('5.3.4 Message too large'), { responseCode: 552 }));
          else refusals.reply('data', to, accept, how(session, callback));
        },
        (error: unknown) => callback(error as Error),
      );
    },
  };
}

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { tls, certificate = 'server', login, maxBytes, port = 0 } = options;
  const messages: ReceivedEmail[] = [];
  const waiting = new Set<() => void>();
  const refusals = new Refusals();
  const keep = (email: ReceivedEmail): void => {
    messages.push(email);
    for (const check of waiting) check();
  };
  const cut = ({ id }: SMTPServerSession): void => {
    for (const connection of server.connections) if (connection.id === id) connection.close();
  };
  const server = new SMTPServer({
    ...handlersOf(refusals, options, keep, cut),
    secure: tls === 'implicit',
    cert: pem(certificate),
    key: pem(`${certificate}.key`),
    logger: false,
    closeTimeout: 1,
    disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
    // Refusals state their own enhanced codes.
    hideENHANCEDSTATUSCODES: true,
    allowInsecureAuth: tls === undefined,
    authOptional: !login,
    disableReverseLookup: true,
    ...(maxBytes === undefined ? {} : { size: maxBytes }),
  });
  // A client that leaves, or does not trust the certificate.
  server.on('error', () => undefined);
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const bound = (server.server.address() as AddressInfo).port;
  const credentials = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';
  return {
    url: `${tls === 'implicit' ? 'smtps' : 'smtp'}://${credentials}127.0.0.1:${bound}`,
    port: bound,
    messages,
    received: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (messages.length < count) return;
          waiting.delete(check);
          resolve(messages);
        };
        waiting.add(check);
        check();
      }),
    refuse: (stage, refusal) => refusals.add(stage, refusal),
    accept: () => refusals.clear(),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
