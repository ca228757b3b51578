import type { Channel, NotificationType } from '../config/message-types.js';
import type { ConfigObject } from '../config/model.js';
export interface MessageSettings {
  readonly achievementCompleted: readonly Channel[];
  readonly recap: readonly Channel[];
  readonly reactivation: readonly Channel[];
  readonly streakReminder: readonly Channel[];
  readonly brandName: string;
  readonly brandColor: string;
  readonly brandLogoUrl: string | null;
  readonly brandUrl: string | null;
  readonly brandAddress: string | null;
  readonly linkHosts: readonly string[];
  readonly defaultLocale: string;
  readonly localeAttribute: string | null;
}
export interface MessageTemplate extends ConfigObject {
  readonly type: NotificationType;
  readonly locale: string;
  readonly subject: string | null;
  readonly heading: string | null;
  readonly body: string | null;
  readonly button: string | null;
  readonly buttonUrl: string | null;
  readonly pushTitle: string | null;
  readonly pushBody: string | null;
}
