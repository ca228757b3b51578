import type { NotificationAbout } from '../../src/messages/rules/notification.js';
import type { DeliveryStatus } from '../../src/deliveries/queue.js';
import type { Settings } from '../../src/app/settings.js';
import { bodyOf, userPath } from './answers.js';
import { type MailServer, startMailServer } from './mail-server.js';
import { until } from './stage.js';
import { startHost, type World } from './world.js';

/** A host that sends its messages, and the mail server that receives the emails. */
export interface Sender {
  readonly server: MailServer;
  readonly host: World;
  /** Stops both. */
  readonly stop: () => Promise<void>;
}

export async function startSender(settings: Partial<Settings> = {}): Promise<Sender> {
  const server = await startMailServer();
  const host = await startHost({ messages: 'on', smtpUrl: server.url, emailFrom: 'Laurel <laurel@example.com>', ...settings });
  const stop = async (): Promise<void> => {
    await host.stop();
    await server.stop();
  };
  return { server, host, stop };
}

/** A message to a user by one channel, and to one device, as its delivery and the outbox have it. */
export interface SentMessage {
  readonly id: string;
  readonly outbox: number;
  readonly user: string;
  readonly type: string;
  readonly channel: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** The error of the last attempt; null without one. */
  readonly reason: string | null;
  readonly about: NotificationAbout;
  /** When it became due. */
  readonly timestamp: string;
}

/** The messages to users of a world's tenant, the oldest first. */
export async function sentMessages(world: World): Promise<SentMessage[]> {
  const { rows } = await world.pool.query<SentMessage>(
    `select d.id, d.outbox::float8 as outbox, d.user_id as user, replace(d.kind, 'message.', '') as type, payload ->> 'channel' as channel, d.status,
            d.attempts, tries -> -1 ->> 'error' as reason, payload -> 'about' as about, payload ->> 'timestamp' as timestamp
       from deliveries as d join outbox on outbox.id = d.outbox where d.tenant = $1 and d.endpoint < 0 order by d.outbox`,
    [world.tenant],
  );
  return rows;
}

/** Waits until no message to a user is pending: a later clock would make it too old. */
export async function untilEnded(world: World): Promise<void> {
  const pending = "select 1 from deliveries where tenant = $1 and endpoint < 0 and status = 'pending' limit 1";
  await until('the messages to end', async () => (await world.pool.query(pending, [world.tenant])).rowCount === 0);
}

/** A message as `type channel user`, with the reason if it was not sent. */
export const briefly = ({ type, channel, user, status, reason }: SentMessage): string =>
  `${type} ${channel} ${user}${status === 'logged' || status === 'delivered' ? '' : ` ${status}: ${reason}`}`;

/** Moves the clock of a world, and shows what that sends. */
export class Timeline {
  private readonly world: World;
  private seen = 0;

  constructor(world: World) {
    this.world = world;
  }

  /** The messages that became due when the clock moved to a time, once they have ended. */
  async messages(iso: string): Promise<SentMessage[]> {
    await this.world.drain();
    await this.world.setClock(iso);
    await untilEnded(this.world);
    const fresh = (await sentMessages(this.world)).filter(({ outbox }) => outbox > this.seen);
    this.seen = fresh.at(-1)?.outbox ?? this.seen;
    return fresh;
  }

  /** The same, briefly and sorted. */
  async at(iso: string): Promise<string[]> {
    return (await this.messages(iso)).map(briefly).sort();
  }

  /** The same, of one type, as users; of several channels, each user once. */
  async users(type: string, iso: string): Promise<string[]> {
    return [
      ...new Set((await this.messages(iso)).filter((one) => one.type === type && one.status === 'logged').map(({ user }) => user)),
    ].sort();
  }
}

/** Creates or updates a user who is reachable by both channels. */
export async function identify(world: World, id: string, more: object = {}): Promise<void> {
  const body = { email: `${encodeURIComponent(id)}@example.com`, tz: 'UTC', deviceTokens: [`fcm:${id}`], ...more };
  bodyOf(await world.request('PUT', userPath(id), { body }), 200);
}

/** Sets the channels of all types, or of some, in a user's preferences. */
export async function prefer(world: World, id: string, notifications: Readonly<Record<string, readonly string[]>>): Promise<void> {
  bodyOf(await world.request('PATCH', userPath(id, '/preferences'), { body: { notifications } }), 200);
}
