import { type Channel, type NotificationType, channels, notificationTypes } from '../../config/schema/message-types.js';
import type { ConfigDocument } from '../../config/schema/model.js';
import type { Engine } from '../../engine/engine.js';
import { identifyUser, readUser, setPreferences, type UserState } from '../../engine/users.js';
import { userFields } from '../../redis/contract.js';
import { LaurelError } from '../../shared/errors.js';
import type { LinkTarget } from '../addresses/links.js';

/** What a user prefers, as the page shows it. */
export interface MessagePreferences {
  readonly name: string;
  readonly hasAddress: boolean;
  readonly isSubscribed: boolean;
  /** Whether the user has a device to push to. */
  readonly hasDevices: boolean;
  /** The channels of each type that are on. Without a preference, all are. */
  readonly notifications: ReadonlyMap<NotificationType, readonly Channel[]>;
  readonly document: ConfigDocument;
}

/** The user of a link. Another user who has the id now is not the owner; `created` is null for a link that is known to belong to the user. */
type Owner = Pick<LinkTarget, 'tenant' | 'user' | 'created'>;

/** Whether an error says that the user does not exist. */
const isUnknownUser = (error: unknown): boolean => error instanceof LaurelError && error.code === 'not_found';

/** The state of the user of a link; undefined for a user who was deleted. */
export async function readOwner(engine: Engine, { tenant, user, created }: Owner): Promise<UserState | undefined> {
  try {
    const state = await readUser(engine, tenant, user);
    return created === null || Number(state.profile[userFields.created]) === created ? state : undefined;
  } catch (error) {
    if (isUnknownUser(error)) return undefined;
    throw error;
  }
}

/** Reads what a user prefers; undefined for a user who was deleted. */
export async function readMessagePreferences(engine: Engine, owner: Owner): Promise<MessagePreferences | undefined> {
  const state = await readOwner(engine, owner);
  if (!state) return undefined;
  const { config, profile } = state;
  const chosen = (type: NotificationType): readonly Channel[] => {
    const list = profile[userFields.notification + type];
    return list === undefined ? channels : (JSON.parse(list) as Channel[]);
  };
  return {
    name: profile[userFields.name] ?? '',
    hasAddress: (profile[userFields.email] ?? '') !== '',
    isSubscribed: profile[userFields.subscribeToEmails] === '1',
    hasDevices: !['', '[]'].includes(profile[userFields.deviceTokens] ?? ''),
    notifications: new Map(notificationTypes.map((type) => [type, chosen(type)])),
    document: config.document,
  };
}

/** Subscribes a user to emails, or unsubscribes the user. A user who was deleted needs nothing. */
export async function subscribe(engine: Engine, owner: Owner, subscribeToEmails: boolean): Promise<void> {
  if (!(await readOwner(engine, owner))) return;
  try {
    await identifyUser(engine, owner.tenant, 'update', { id: owner.user, subscribeToEmails });
  } catch (error) {
    // The user was deleted after the read.
    if (!isUnknownUser(error)) throw error;
  }
}

/** A box of the page's form: emails as a whole, or one channel of one type. */
export type Box = 'emails' | `${NotificationType}:${Channel}`;

/** What the user has sent: the boxes of the form, and those that were checked. */
export interface SentBoxes {
  readonly shown: ReadonlySet<string>;
  readonly checked: ReadonlySet<string>;
}

/** Stores what a user has chosen. Only boxes that the form had change anything: a device may have been added since it was loaded. */
export async function saveMessagePreferences(engine: Engine, owner: Owner, { shown, checked }: SentBoxes): Promise<void> {
  const before = await readMessagePreferences(engine, owner);
  if (!before) return;
  const notifications: Partial<Record<NotificationType, readonly Channel[]>> = {};
  for (const [type, on] of before.notifications) {
    const chosen = channels.filter((channel) => {
      const box: Box = `${type}:${channel}`;
      return shown.has(box) ? checked.has(box) : on.includes(channel);
    });
    if (chosen.length !== on.length || chosen.some((channel) => !on.includes(channel))) notifications[type] = chosen;
  }
  if (Object.keys(notifications).length > 0) await setPreferences(engine, owner.tenant, owner.user, { notifications });
  const wanted = shown.has('emails') ? checked.has('emails') : before.isSubscribed;
  // Redis refuses to subscribe a user without an address.
  if (wanted !== before.isSubscribed && (before.hasAddress || !wanted)) await subscribe(engine, owner, wanted);
}
