import type { BrandFont } from '../../config/schema/message-types.js';

/** The fonts of an email for each family, installed ones, the best first. Names are not quoted: the stack is a part of an attribute. */
export const fontStacks: Readonly<Record<BrandFont, string>> = {
  MODERN_SANS: '-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif',
  BOOK_SANS: 'Optima,Candara,Noto Sans,sans-serif',
  ORGANIC_SANS: 'Seravek,Gill Sans Nova,Ubuntu,Calibri,DejaVu Sans,sans-serif',
  GEOMETRIC_SANS: 'Avenir,Montserrat,Corbel,URW Gothic,sans-serif',
  HEAVY_SANS: 'Bahnschrift,DIN Alternate,Franklin Gothic Medium,sans-serif',
  ROUNDED_SANS: 'ui-rounded,Hiragino Maru Gothic ProN,Arial Rounded MT Bold,sans-serif',
  MODERN_SERIF: 'Charter,Bitstream Charter,Sitka Text,Cambria,serif',
  BOOK_SERIF: 'Iowan Old Style,Palatino Linotype,URW Palladio L,serif',
  MONOSPACE: 'Nimbus Mono PS,Courier New,monospace',
};
