import { once } from 'node:events';
import { isIP } from 'node:net';
import {
  type NodemailerError,
  type SMTPPoolOptions,
  type SMTPPoolSentMessageInfo,
  type SendMailOptions,
  type Transporter,
  createTransport,
} from 'nodemailer';
import { RateLimiterMemory, RateLimiterQueue } from 'rate-limiter-flexible';
import { OperatorError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { domainOf, isSmtpAddress, parseSender, type Sender } from '../addresses/address.js';
import { readCertificates, readPrivateKey } from './key-files.js';
import { type Email, type SendResult, detailOf } from './provider.js';
import { smtpResult } from './smtp-result.js';

/** The key of the metadata with the id of the delivery. Over SMTP, Postmark takes metadata from headers of this name, and webhooks repeat it. */
export const postmarkMetadataKey = 'laurel-delivery';
const postmarkHeader = `X-PM-Metadata-${postmarkMetadataKey}`;

/** The settings of emails (docs/messages-providers.md). */
export interface EmailSettings {
  readonly smtpUrl: string;
  readonly smtpCaFile: string | null;
  readonly emailFrom: string;
  readonly emailRateLimit: number;
  readonly dkimDomain: string | null;
  readonly dkimSelector: string | null;
  readonly dkimKeyFile: string | null;
}

/** The signed headers: RFC 8058 requires both of List-Unsubscribe. */
const signedHeaders =
  'From:Reply-To:Subject:Date:Message-ID:To:MIME-Version:Content-Type:Content-Transfer-Encoding:Auto-Submitted:List-Unsubscribe:List-Unsubscribe-Post';

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\.[\d.]+$/.test(host);

/**
 * TLS: always with smtps://. With smtp://, STARTTLS is required for a login and with SMTP_CA_FILE, and otherwise used where the server offers it.
 * Connections within this machine need none.
 */
function tlsOptions(url: URL, host: string, caFile: string | null): SMTPPoolOptions {
  const ca = caFile === null ? undefined : readCertificates('SMTP_CA_FILE', caFile);
  const isRequired = ca !== undefined || (url.username !== '' && !isLoopback(host));
  return {
    secure: url.protocol === 'smtps:',
    ...(isRequired ? { requireTLS: true } : { ignoreTLS: isLoopback(host) }),
    tls: {
      // Even if NODE_TLS_REJECT_UNAUTHORIZED disables the checks of the process.
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ...(ca === undefined ? {} : { ca }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
    },
  };
}

function dkimOptions({ dkimDomain, dkimSelector, dkimKeyFile }: EmailSettings): SMTPPoolOptions {
  if (dkimDomain === null || dkimSelector === null || dkimKeyFile === null) return {};
  const key = readPrivateKey('DKIM_KEY_FILE', dkimKeyFile);
  // nodemailer sends an email unsigned if the key can't sign it.
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < limits.minDkimKeyBits) {
    throw new OperatorError(`DKIM_KEY_FILE must be an RSA key with at least ${limits.minDkimKeyBits} bits.`);
  }
  const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { dkim: { domainName: dkimDomain, keySelector: dkimSelector, privateKey, headerFieldNames: signedHeaders } };
}

function poolOptions(settings: EmailSettings): SMTPPoolOptions {
  const url = new URL(settings.smtpUrl);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const auth = { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
  return {
    host,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...tlsOptions(url, host, settings.smtpCaFile),
    // A server that offers no login is an error, and not a reason to go without.
    ...(url.username === '' ? {} : { auth, forceAuth: true }),
    ...dkimOptions(settings),
    maxConnections: limits.emailConnections,
    maxMessages: limits.emailsPerConnection,
    maxRequeues: limits.emailRequeues,
    connectionTimeout: limits.emailConnectMs,
    greetingTimeout: limits.emailConnectMs,
    dnsTimeout: limits.emailConnectMs,
    socketTimeout: limits.emailReplyMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The sentence for the operator about a server that does not take Laurel's connections. */
function verifySentence(url: string, { code, response, message }: NodemailerError): string {
  const { hostname, port, protocol } = new URL(url);
  const server = `The SMTP server at ${hostname}${port === '' ? '' : `:${port}`}`;
  const reason = detailOf(response ?? message);
  if (code === 'EAUTH' || code === 'ENOAUTH') return `${server} refuses the login in SMTP_URL: ${reason}.`;
  if (code === 'ETLS' || /certificate|SSL|TLS/i.test(message)) {
    return `${server} can't be reached with TLS: ${reason}. Check the host in SMTP_URL, ${protocol}//, and SMTP_CA_FILE.`;
  }
  return `${server} can't be reached: ${reason}.`;
}

/**
 * Headers of RFC 8058, with which mail clients unsubscribe with one POST to the URL, and the id of the delivery for Postmark, which repeats it in its
 * webhooks.
 */
function headersOf({ id, unsubscribeUrl: url }: Email): Pick<SendMailOptions, 'headers' | 'list'> {
  const headers = { 'Auto-Submitted': 'auto-generated', [postmarkHeader]: id };
  if (url === null) return { headers };
  return { headers: { ...headers, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }, list: { unsubscribe: { url } } };
}

/** An email that is waiting for EMAIL_RATE_LIMIT, or being sent. */
interface Sending {
  readonly aborting: AbortController;
  isWaiting: boolean;
}

/** Sends emails through an SMTP server. */
export class EmailTransport {
  private readonly settings: EmailSettings;
  private readonly sender: Sender;
  private readonly transporter: Transporter<SMTPPoolSentMessageInfo, SMTPPoolOptions>;
  /** nodemailer's own limit does not count the first email of a connection. */
  private readonly rate: RateLimiterQueue;
  private readonly inFlight = new Map<Sending, Promise<SendResult>>();
  private readonly sendMs: number;
  private hasStopped = false;

  /** Throws an OperatorError for unusable files. Does not connect. `sendMs` is the timeout of one email. */
  constructor(settings: EmailSettings, { sendMs = limits.emailSendMs }: { readonly sendMs?: number } = {}) {
    const sender = parseSender(settings.emailFrom);
    if (!sender) throw new OperatorError('EMAIL_FROM must be one email address, with or without a name.');
    this.settings = settings;
    this.sender = sender;
    this.sendMs = sendMs;
    this.transporter = createTransport({ ...poolOptions(settings), pool: true });
    // Failures are the results of the emails that they concern.
    this.transporter.on('error', () => undefined);
    this.rate = new RateLimiterQueue(new RateLimiterMemory({ points: settings.emailRateLimit, duration: 1 }));
  }

  /** Sends an email, at EMAIL_RATE_LIMIT. Does not throw: an error is a result. */
  async send(email: Email): Promise<SendResult> {
    if (!isSmtpAddress(email.to)) {
      return { kind: 'permanent', isGone: true, status: null, detail: 'the address is not a valid email address' };
    }
    const sending: Sending = { aborting: new AbortController(), isWaiting: true };
    const timer = setTimeout(() => sending.aborting.abort(), this.sendMs);
    const result = this.deliver(email, sending).catch((error: unknown) => smtpResult(error as NodemailerError, [email.to]));
    this.inFlight.set(sending, result);
    try {
      return await result;
    } finally {
      clearTimeout(timer);
      this.inFlight.delete(sending);
    }
  }

  /** Connects and logs in. Returns a sentence about what is wrong, or undefined. */
  async verify(): Promise<string | undefined> {
    try {
      await this.transporter.verify();
      return undefined;
    } catch (error) {
      return verifySentence(this.settings.smtpUrl, error as NodemailerError);
    }
  }

  /** Refuses emails that have not been started, and finishes the others. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    for (const { isWaiting, aborting } of this.inFlight.keys()) if (isWaiting) aborting.abort();
    this.transporter.close();
    const timer = setTimeout(() => {
      for (const { aborting } of this.inFlight.keys()) aborting.abort();
    }, limits.emailStopMs);
    await Promise.all(this.inFlight.values());
    clearTimeout(timer);
  }

  private async deliver(email: Email, sending: Sending): Promise<SendResult> {
    const { signal } = sending.aborting;
    if (!this.hasStopped) await Promise.race([this.rate.removeTokens(1), once(signal, 'abort')]);
    if (this.hasStopped || signal.aborted) throw new Error('not started before a stop or the timeout');
    sending.isWaiting = false;
    const { response } = await this.transporter.sendMail({
      from: this.sender,
      // Not a text, which could name several addresses.
      to: { name: '', address: email.to },
      subject: email.subject,
      text: email.text,
      html: email.html,
      messageId: `<${email.id}@${domainOf(this.sender.address)}>`,
      ...headersOf(email),
      signal,
    });
    return { kind: 'accepted', status: Number(response.slice(0, 3)), detail: detailOf(response, [email.to]) };
  }
}
