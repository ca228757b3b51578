/** Colours as `#rrggbb`, and the contrast of text by WCAG 2.2. */

/** The least contrast of text that WCAG's level AA allows. */
const minimumContrast = 4.5;

const channelsOf = (color: string): number[] => [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));

/** The relative luminance, from 0 to 1. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Black or white, whichever is easier to read on a colour. One of them always has a contrast of 4.58 or more. */
export const textOn = (background: string): string =>
  contrast('#ffffff', background) >= contrast('#000000', background) ? '#ffffff' : '#000000';

/** A mixture of two colours: `share` of the other one, from 0 to 1. */
function mix(color: string, other: string, share: number): string {
  const target = channelsOf(other);
  const mixed = channelsOf(color).map((channel, i) => Math.round(channel + ((target[i] ?? 0) - channel) * share));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** A colour that can be read as text on all of the backgrounds, as little changed as possible: darkened on light ones, lightened on dark ones. */
export function readableOn(color: string, backgrounds: readonly [string, ...string[]]): string {
  const target = textOn(backgrounds[0]);
  const steps = 50;
  for (let step = 0; step < steps; step += 1) {
    const mixed = mix(color, target, step / steps);
    if (backgrounds.every((background) => contrast(mixed, background) >= minimumContrast)) return mixed;
  }
  return target;
}
