/** The types and channels of messages to users, as the contract's notification preferences name them. */
export const notificationTypes = ['achievement_completed', 'recap', 'reactivation', 'streak_reminder'] as const;
export type NotificationType = (typeof notificationTypes)[number];

export const channels = ['email', 'push'] as const;
export type Channel = (typeof channels)[number];

/** The families of fonts of emails, by the contract's names. */
export const brandFonts = [
  'MODERN_SANS',
  'BOOK_SANS',
  'ORGANIC_SANS',
  'GEOMETRIC_SANS',
  'HEAVY_SANS',
  'ROUNDED_SANS',
  'MODERN_SERIF',
  'BOOK_SERIF',
  'MONOSPACE',
] as const;
export type BrandFont = (typeof brandFonts)[number];
