/** Limits of messages to users, with their unit last in the name. */
export const messageLimits = {
  // Configuration and sending
  /** Templates of a tenant: each of the four types in 50 languages. */
  maxTemplates: 200,
  /** Characters of the texts of a template, Liquid included. */
  maxTemplateLineChars: 500,
  maxTemplateBodyChars: 5_000,
  /** Nesting of the tags of a template: the library parses and renders recursively. */
  maxTemplateLevels: 8,
  /** Filters of one expression of a template. */
  maxTemplateFilters: 10,
  /**
   * Time that rendering the texts of a message may take in a thread, of which a message needs some 1 ms; the items and characters that the filters of
   * one text may allocate, the characters that it may write, and the heap of the thread.
   */
  templateRenderMs: 500,
  templateRenderItems: 1_000_000,
  maxRenderedChars: 64 * 1024,
  renderThreadMb: 128,
  /** Checked texts of templates that a process caches. */
  maxCheckedTexts: 2_048,
  /** Characters of a locale (RFC 5646, 4.4.1), of the name and of the postal address in emails, and of a URL. */
  maxLocaleChars: 35,
  maxBrandNameChars: 100,
  maxBrandAddressChars: 500,
  maxLinkChars: 2_048,
  /** Hosts that links in messages may lead to. */
  maxLinkHosts: 50,
  /** Messages to one user in one day. */
  maxMessagesPerUserDay: 100,
  /** Bytes of a generated key. */
  secretBytes: 32,
  /** How long a process uses a key of messages before it reads it again: until then, links that a rotation ends still work. */
  secretFreshMs: 1_000,
  /** Messages of a tenant that a worker has claimed by one channel: it sends them, or has not saved yet that they are sent. A kill doubles no others. */
  messageConcurrency: 20,
  /** For how long sent messages are collected before they are saved; a worker that is killed sends them again. */
  messageCollectMs: 500,
  /** Delay before the first retry of a message, which doubles each time, and the longest one. */
  messageFirstRetryMs: 60_000,
  messageRetryMs: 3_600_000,
  /** How long after it became due a message is still sent; one about an achievement can wait for the next day first. */
  messageMaxAgeMs: 86_400_000,
  achievementMaxAgeMs: 3 * 86_400_000,
  /** Streaks that one call of a dry run reads, which delays events by about 2 ms. */
  dryRunStreaks: 50,
  /** Longest time for which achievements of a user are gathered. */
  maxAchievementGroupMinutes: 240,
  /** Bytes of the body of a page's form. */
  maxPageBodyBytes: 10 * 1024,
  /** Bytes of a bounce from a provider (a notification of SNS has up to 256 KiB, its JSON in a text), and time for its downloads. */
  maxBounceBytes: 1024 * 1024,
  bounceFetchMs: 10_000,
  /** Recipients of one bounce, and users with one address to whom a complaint applies. */
  maxBouncedRecipients: 100,
  maxUsersOfAddress: 1_000,
  /** Clicks that a process is counting. While Postgres is away, further ones are not counted. */
  maxClicksInFlight: 1_000,

  /*
   * Messages to users. Together they keep an email below maxEmailBytes, above which Gmail cuts it: the longest texts take 5 bytes a character when
   * they are escaped, and 4 as UTF-8 (test/rules/messages-render.test.ts renders them).
   */
  /** Bytes of the HTML of an email. */
  maxEmailBytes: 102 * 1024,
  /** Characters of one value in a template: an id, the value of an attribute. The rest is cut off. */
  maxMessageValueChars: 255,
  /** The same of names, descriptions and lines of the postal address that the layout shows. */
  maxMessageNameChars: 80,
  maxMessageDescriptionChars: 160,
  /** Characters of rendered texts. The rest is cut off. */
  maxSubjectChars: 200,
  maxHeadingChars: 200,
  maxMessageBodyChars: 4_000,
  maxButtonChars: 60,
  maxPushTitleChars: 100,
  maxPushBodyChars: 400,
  /** Characters of the preview that mailboxes show beside the subject. */
  maxPreheaderChars: 140,
  /** Paragraphs, and lines of the postal address. Further ones are appended to the last. */
  maxMessageParagraphs: 40,
  maxMessageAddressLines: 6,
  /** Characters of a link, of one in a push notification (a payload has at most 4,096 bytes), and of an image's address. Longer ones are left out. */
  maxMessageLinkChars: 2_000,
  maxPushLinkChars: 1_000,
  maxMessageImageChars: 500,
  /** Rows that the layout shows. */
  maxMessageAchievements: 5,
  maxMessageMetrics: 5,
  maxMessagePoints: 3,
  maxMessageLeaderboards: 3,
  /** Parsed texts of templates, and formats of dates and numbers, that a process caches. */
  maxParsedTexts: 2_048,
  /** Periods of the calendar of daily, weekly and monthly streaks. */
  messageStreakDays: 14,
  messageStreakWeeks: 6,
  messageStreakMonths: 6,

  // Providers
  /** Bytes of an email address and of its part before the @ (RFC 5321, 4.5.3.1). */
  maxSmtpAddressBytes: 254,
  maxLocalPartBytes: 64,
  /** EMAIL_RATE_LIMIT: its default is below the first limit of most providers (Amazon SES: 14 a second). */
  emailsPerS: 10,
  maxEmailsPerS: 10_000,
  /** Confirmations that a mailbox receives from a tenant: one in a pause, and so many in a day; and those that operators may ask for in a window. */
  confirmationPauseS: 600,
  maxConfirmationsADay: 10,
  maxConfirmationsAsked: 30,
  confirmationWindowS: 3_600,
  /** Test emails that a tenant may send in a window: enough for an afternoon with a template, too few for a mailing. */
  maxTestEmails: 30,
  testEmailWindowS: 3_600,
  /** Connections of one worker to the SMTP server, and emails that one connection sends before it is replaced. */
  emailConnections: 5,
  emailsPerConnection: 100,
  /** How often an email that has not been started moves to another connection when its own closes. */
  emailRequeues: 1,
  /**
   * Timeouts of an email: for the connection, the greeting and the name server each; for the server's reply, after which the email may have been
   * accepted, so it is long; and in all, with the wait for EMAIL_RATE_LIMIT. A claim must last longer.
   */
  emailConnectMs: 10_000,
  emailReplyMs: 60_000,
  emailSendMs: 75_000,
  /** How long a shutdown waits for emails that are being sent. A connection that is cut after the message may double it. */
  emailStopMs: 5_000,
  /** Shortest RSA key of DKIM that receivers accept (RFC 8301). */
  minDkimKeyBits: 1_024,
  /** Characters of a provider's answer that a delivery stores. */
  maxMessageDetailChars: 500,
  /** Timeouts of a push: for the connection, for each response, and in all. A claim must last longer. */
  pushConnectMs: 10_000,
  pushResponseMs: 20_000,
  pushSendMs: 45_000,
  /** How long a shutdown waits for pushes that are being sent. */
  pushStopMs: 5_000,
  /** How long a provider keeps a push for a device that is offline. */
  pushLifetimeS: 86_400,
  /** Messages of one request to Expo, and how long the first one waits for others. */
  expoBatchMessages: 100,
  expoCollectMs: 20,
  /** Receipts of one request; how long after its ticket a receipt is read, and again; and when Expo has deleted it (Expo's documentation). */
  expoReceiptsPage: 300,
  expoReceiptDelayMs: 15 * 60_000,
  expoReceiptLifetimeMs: 24 * 3_600_000,
  /** Concurrent pushes of one connection to APNs, and connections; lifetime of the token that signs Laurel in: Apple requires 20 to 60 minutes. */
  apnsConcurrency: 100,
  apnsConnections: 2,
  apnsTokenMs: 50 * 60_000,
} as const;
