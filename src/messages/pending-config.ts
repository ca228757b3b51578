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
import { Liquid, type Template } from 'liquidjs';
const engine = new Liquid({ ownPropertyOnly: true, strictFilters: true, strictVariables: false });
export const parseTemplate = (text: string): Template[] => engine.parse(text);
export const renderTemplate = (parsed: Template[], scope: object): string => engine.renderSync(parsed, scope) as string;
export function isAllowedLink({ brandUrl, linkHosts }: MessageSettings, url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, host } = new URL(url);
  return /^https?:$/.test(protocol) && [...linkHosts, ...(brandUrl === null ? [] : [new URL(brandUrl).host])].includes(host);
}
