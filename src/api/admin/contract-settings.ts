/** The settings that the contract has in `/settings`: a view of `settings` and of the brand in `messages` (config/schema/model.ts). */
import { z } from 'zod';
import { activationWindow, checkedText, whole } from '../../config/schema/fields.js';
import { brandUrlFault } from '../../config/schema/links.js';
import { messageSettings } from '../../config/schema/message-fields.js';
import { brandFonts } from '../../config/schema/message-types.js';
import type { ConfigDocument, MessageSettings, Settings } from '../../config/schema/model.js';
import { LaurelError } from '../../shared/errors.js';

/** A color of a request as `#rrggbb`, with its transparency on white; null for another text. */
function hexOf(text: string): string | null {
  const [, short, long] = /^#(?:([\da-f]{3})|([\da-f]{6}))$/i.exec(text) ?? [];
  if (long !== undefined) return text.toLowerCase();
  if (short !== undefined) return `#${Array.from(short, (digit) => digit + digit).join('')}`.toLowerCase();
  const [, red, green, blue, alpha = '1'] =
    /^rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*(\d(?:\.\d+)?|\.\d+)\s*)?\)$/i.exec(text) ?? [];
  const parts = [red, green, blue].map(Number);
  if (red === undefined || Number(alpha) > 1 || parts.some((part) => part > 255)) return null;
  const onWhite = parts.map((part) => Math.round(255 - (255 - part) * Number(alpha)));
  return `#${onWhite.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

const colorFault = 'must be a color: #RGB, #RRGGBB, rgb(…) or rgba(…)';
const color = checkedText('a color such as "#4f46e5"', (value) => (hexOf(value) === null ? colorFault : null)).overwrite(
  (value) => hexOf(value) ?? value,
);

const urlFault = (value: string): string | null => (value === '' ? null : brandUrlFault(value));
const image = z.object({ url: messageSettings.brandLogoUrl.schema as z.ZodType<string> }).nullable();
const aggregationPeriod = z.enum(['weekly', 'monthly']);

export const contractSettingsBody = z
  .object({
    branding: z
      .object({
        appName: messageSettings.brandName.schema as z.ZodType<string>,
        appUrl: checkedText('a URL like https://example.com', urlFault),
        brandColor: color,
        font: z.enum(brandFonts),
        logo: image,
        appIcon: image,
      })
      .partial(),
    experimentation: z.object({ controlRatio: whole(0, 100), userActivationWindow: activationWindow }).partial(),
    aggregationPeriod,
  })
  .partial();
type Sent = z.infer<typeof contractSettingsBody>;

const shownImage = z.object({ url: z.string() }).nullable();

export const contractSettingsShape = z.object({
  branding: z
    .object({
      appName: z.string(),
      appUrl: z.string().meta({ description: 'Empty until it is set.' }),
      brandColor: z.string(),
      font: z.enum(brandFonts),
      logo: shownImage,
      appIcon: shownImage,
    })
    .meta({ description: 'The brand of `/messages-settings`.' }),
  experimentation: z.object({
    controlRatio: z.number().int().meta({ description: 'In percent, rounded; `controlRatio` is exact.' }),
    userActivationWindow: z.number().int().meta({ description: 'The same as `activationWindowDays`.' }),
  }),
  aggregationPeriod: aggregationPeriod.meta({ description: '`recapFrequency`, with daily as weekly and yearly as monthly.' }),
});
type Shown = z.infer<typeof contractSettingsShape>;

const imageOf = (url: string | null): { readonly url: string } | null => (url === null ? null : { url });

const percentOf = ({ controlRatio }: Settings): number => Math.round(controlRatio * 100);
const periodOf = ({ recapFrequency }: Settings): Shown['aggregationPeriod'] =>
  recapFrequency === 'daily' || recapFrequency === 'weekly' ? 'weekly' : 'monthly';

export function shownContractSettings({ settings, messages }: ConfigDocument): Shown {
  const { brandName, brandUrl, brandColor, brandFont, brandLogoUrl, brandIconUrl } = messages;
  return {
    branding: {
      appName: brandName,
      appUrl: brandUrl ?? '',
      brandColor,
      font: brandFont,
      logo: imageOf(brandLogoUrl),
      appIcon: imageOf(brandIconUrl),
    },
    experimentation: { controlRatio: percentOf(settings), userActivationWindow: settings.activationWindowDays },
    aggregationPeriod: periodOf(settings),
  };
}

/** The fields of Laurel that the contract has too, by the contract's names. */
const contractNames = {
  controlRatio: 'experimentation.controlRatio',
  activationWindowDays: 'experimentation.userActivationWindow',
  recapFrequency: 'aggregationPeriod',
} as const;
type Shared = Partial<Pick<Settings, keyof typeof contractNames>>;

/** The settings that a request changes by the contract's fields: what is sent as it is shown changes nothing. */
function changedSettings(settings: Settings, { experimentation = {}, aggregationPeriod: period = periodOf(settings) }: Sent): Shared {
  const { controlRatio: percent = percentOf(settings), userActivationWindow: days = settings.activationWindowDays } = experimentation;
  return {
    ...(percent !== percentOf(settings) && { controlRatio: percent / 100 }),
    ...(days !== settings.activationWindowDays && { activationWindowDays: days }),
    ...(period !== periodOf(settings) && { recapFrequency: period }),
  };
}

/** The stored settings that a request changes, by Laurel's own fields and by the contract's. Throws a 422 where both change one differently. */
export function settingsFields({ settings }: ConfigDocument, sent: object): object {
  const changed = changedSettings(settings, sent);
  const own = sent as Shared;
  for (const name of Object.keys(changed) as (keyof Shared)[]) {
    if (own[name] === undefined || own[name] === settings[name] || own[name] === changed[name]) continue;
    throw new LaurelError(
      'unprocessable',
      `\`${name}\` and \`${contractNames[name]}\` change the same setting differently: send one of them.`,
    );
  }
  return { ...sent, ...changed };
}

/** The stored brand that a request changes. Throws a 422. */
export function brandFields({ messages }: ConfigDocument, { branding = {} }: Sent): Partial<MessageSettings> {
  const { appName, appUrl, brandColor, font, logo, appIcon } = branding;
  if (appUrl === '' && messages.brandUrl !== null) {
    throw new LaurelError('unprocessable', '`branding.appUrl` must be a URL like https://example.com.');
  }
  return {
    ...(appName !== undefined && { brandName: appName }),
    ...(appUrl !== undefined && appUrl !== '' && { brandUrl: appUrl }),
    ...(brandColor !== undefined && { brandColor }),
    ...(font !== undefined && { brandFont: font }),
    ...(logo !== undefined && { brandLogoUrl: logo?.url ?? null }),
    ...(appIcon !== undefined && { brandIconUrl: appIcon?.url ?? null }),
  };
}
