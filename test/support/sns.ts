import { createSign } from 'node:crypto';
import { Agent, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pem } from './tls.js';

/** A stand-in for Amazon SNS on loopback, which serves the certificate that it signs with, and confirms subscriptions. */
export interface Sns {
  /** Connects to it whatever host is named. */
  readonly agent: Agent;
  /** The paths that were requested, with their host. */
  readonly requested: string[];
  /** The status of each path that starts so; 200 by default. */
  readonly statuses: Map<string, number>;
  stop(): Promise<void>;
}

export const certificatePath = `/SimpleNotificationService-${'0123456789abcdef'.repeat(2)}.pem`;
export const certificateUrl = `https://sns.eu-west-1.amazonaws.com${certificatePath}`;

export async function startSns(): Promise<Sns> {
  const requested: string[] = [];
  const statuses = new Map<string, number>();
  const server = createServer({ cert: pem('server'), key: pem('server.key') }, (request, response) => {
    const path = request.url ?? '';
    requested.push(`${request.headers.host ?? ''}${path}`);
    const status = [...statuses].find(([start]) => path.startsWith(start))?.[1] ?? 200;
    response.writeHead(status).end(status === 200 && path === certificatePath ? pem('sns') : '<xml/>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ host: '127.0.0.1', port, servername: 'localhost', ca: pem('ca') });
  return {
    agent,
    requested,
    statuses,
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const;

/** A message of SNS, signed as Amazon documents it. */
export function snsMessage(
  type: keyof typeof signedFields,
  fields: Readonly<Record<string, string>>,
  version: '1' | '2' = '2',
): Record<string, string> {
  const message: Record<string, string> = {
    Type: type,
    MessageId: 'b1d2',
    TopicArn: 'arn:aws:sns:eu-west-1:1:bounces',
    Timestamp: '2040-01-02T12:00:00.000Z',
    Message: '',
    ...fields,
  };
  const lines = signedFields[type].filter((name) => name in message).map((name) => `${name}\n${message[name] ?? ''}\n`);
  const signature = createSign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256')
    .update(lines.join(''))
    .sign(pem('sns.key'), 'base64');
  return { SignatureVersion: version, Signature: signature, SigningCertURL: certificateUrl, ...message };
}
