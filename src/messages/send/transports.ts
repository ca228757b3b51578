import type pg from 'pg';
import { OperatorError } from '../../shared/errors.js';
import { type EmailSettings, EmailTransport } from './email-transport.js';
import type { Channel } from '../../config/schema/message-types.js';
import { ApnsTransport, type ApnsSettings } from './push/apns.js';
import { ExpoTransport } from './push/expo.js';
import { FcmTransport } from './push/fcm.js';
import { PushRouter, type Route } from './push/router.js';
import type { PushProvider } from '../../shared/device-tokens.js';
import type { PushTransport } from './push/transport.js';

type Nullable<Shape> = { readonly [Key in keyof Shape]: Shape[Key] | null };

/** What the settings of the service say about providers. */
export interface TransportSettings extends Nullable<EmailSettings>, Nullable<ApnsSettings> {
  readonly emailRateLimit: number;
  readonly pushExpo: boolean;
  readonly expoAccessToken: string | null;
  readonly expoUrl: string;
  readonly fcmCredentialsFile: string | null;
  readonly fcmUrl: string;
  readonly apnsHost: string;
}

export interface TransportOptions {
  readonly pool: pg.Pool;
  /** Tickets of Expo that could not be saved: their receipts will not be read. */
  readonly onUnsavedTickets: (error: unknown) => void;
  /** The CA of APNs, in tests. */
  readonly apnsCa?: string;
  /** The timeout of one push. */
  readonly pushSendMs?: number;
}

/** Credentials that can't be used. Their provider is off. */
interface ProviderProblem {
  readonly channel: Channel;
  readonly provider: 'smtp' | PushProvider;
  readonly sentence: string;
}

export interface Transports {
  /** Undefined without SMTP_URL, and with unusable files. */
  readonly email: EmailTransport | undefined;
  /** Undefined if no provider can be used. */
  readonly push: PushTransport | undefined;
  /** For ReceiptReader. */
  readonly expo: ExpoTransport | undefined;
  readonly problems: readonly ProviderProblem[];
  stop(): Promise<void>;
}

const absent: Readonly<Record<PushProvider, string>> = {
  expo: 'Expo is switched off by PUSH_EXPO',
  fcm: 'FCM is not configured: set FCM_CREDENTIALS_FILE',
  apns: 'APNs is not configured: set APNS_KEY_FILE, APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC',
};

/** Whether all settings are there. */
const isComplete = <Shape extends object>(settings: Nullable<Shape>): settings is Shape =>
  Object.values(settings).every((value) => value !== null);

function emailSettings({ smtpUrl, emailFrom, ...settings }: TransportSettings): EmailSettings | undefined {
  const { smtpCaFile, emailRateLimit, dkimDomain, dkimSelector, dkimKeyFile } = settings;
  if (smtpUrl === null || emailFrom === null) return undefined;
  return { smtpUrl, emailFrom, smtpCaFile, emailRateLimit, dkimDomain, dkimSelector, dkimKeyFile };
}

function apnsSettings(settings: TransportSettings): ApnsSettings | undefined {
  const { apnsKeyFile, apnsKeyId, apnsTeamId, apnsTopic, apnsHost } = settings;
  const given: Nullable<ApnsSettings> = { apnsKeyFile, apnsKeyId, apnsTeamId, apnsTopic, apnsHost };
  return isComplete(given) ? given : undefined;
}

/** Collects the problems of transports that can't be created. */
class Builder {
  readonly problems: ProviderProblem[] = [];

  build<Transport>(provider: ProviderProblem['provider'], create: () => Transport | undefined): Transport | undefined {
    try {
      return create();
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      this.problems.push({ channel: provider === 'smtp' ? 'email' : 'push', provider, sentence: error.message });
      return undefined;
    }
  }

  route(provider: PushProvider, create: () => PushTransport | undefined): Route {
    const transport = this.build(provider, create);
    if (transport) return transport;
    const problem = this.problems.find((one) => one.provider === provider);
    // Unusable credentials are for the operator to repair, and then the push is sent.
    if (problem) return { kind: 'unavailable', status: null, detail: problem.sentence };
    return { kind: 'permanent', isGone: false, status: null, detail: absent[provider] };
  }
}

/** Creates the transports of the settings. Does not connect, and does not throw for unusable credentials: they are in `problems`. */
export function createTransports(
  settings: TransportSettings,
  { pool, onUnsavedTickets, apnsCa, pushSendMs }: TransportOptions,
): Transports {
  const { pushExpo, expoAccessToken: accessToken, expoUrl: url, fcmCredentialsFile, fcmUrl } = settings;
  const builder = new Builder();
  const forEmail = emailSettings(settings);
  const email = builder.build('smtp', () => forEmail && new EmailTransport(forEmail));
  const expo = pushExpo ? new ExpoTransport({ accessToken, url, pool, onUnsaved: onUnsavedTickets }) : undefined;
  const forApns = apnsSettings(settings);
  const routes = {
    expo: builder.route('expo', () => expo),
    fcm: builder.route('fcm', () => (fcmCredentialsFile === null ? undefined : new FcmTransport({ fcmCredentialsFile, fcmUrl }))),
    apns: builder.route('apns', () => forApns && new ApnsTransport(forApns, apnsCa === undefined ? {} : { ca: apnsCa })),
  };
  const hasProvider = Object.values(routes).some((route) => 'send' in route);
  const push = hasProvider ? new PushRouter(routes, { sendMs: pushSendMs }) : undefined;
  const stop = async (): Promise<void> => {
    await Promise.all([email?.stop(), push?.stop()]);
  };
  return { email, push, expo, problems: builder.problems, stop };
}
