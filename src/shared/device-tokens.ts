/** Which provider a device token belongs to (docs/messages-providers.md). */

export const pushProviders = ['expo', 'fcm', 'apns'] as const;
export type PushProvider = (typeof pushProviders)[number];

export interface DeviceToken {
  readonly provider: PushProvider;
  /** The token as its provider knows it, without the prefix. */
  readonly value: string;
}

/** By its prefix (`expo:`, `fcm:`, `apns:`), else by its form: that of Expo, 64 hexadecimal digits for APNs, anything else for FCM. */
export function parseToken(token: string): DeviceToken {
  const prefix = pushProviders.find((provider) => token.startsWith(`${provider}:`));
  if (prefix !== undefined) return { provider: prefix, value: token.slice(prefix.length + 1) };
  if (/^(?:ExponentPushToken|ExpoPushToken)\[.+\]$/.test(token)) return { provider: 'expo', value: token };
  return { provider: /^[0-9a-f]{64}$/i.test(token) ? 'apns' : 'fcm', value: token };
}

/**
 * The device of a token: the token without the prefix that names its provider, as in lua/modules/devices.lua. It has one owner (docs/rules/users.md).
 */
export const deviceOf = (token: string): string => parseToken(token).value;

/** The prefix of a token, as a regular expression of Postgres. */
export const tokenPrefix = `^(${pushProviders.join('|')}):`;
