/**
 * Looks at a page in a browser: at the contrast of every text (WCAG 2.2), and at images, scripts and the width. An expression that a test evaluates
 * in the page (test/api/message-looks.test.ts), so it uses nothing but the page.
 */
(() => {
  const { document, getComputedStyle, innerWidth, NodeFilter } = globalThis;
  const minimumContrast = 4.5;

  /** Red, green and blue from 0 to 255, and alpha from 0 to 1. */
  const colorOf = (text) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = Array.from(text.matchAll(/[\d.]+/g), ([number]) => Number(number));
    return [red, green, blue, alpha];
  };
  const luminance = (color) => {
    const [red, green, blue] = color.slice(0, 3).map((channel) => {
      const share = channel / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const backgroundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = colorOf(getComputedStyle(at).backgroundColor);
      if (color[3] > 0) return color;
    }
    return [255, 255, 255, 1];
  };

  const faint = [];
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (text === '' || element.getClientRects().length === 0) continue;
    texts += 1;
    const [one, other] = [luminance(colorOf(getComputedStyle(element).color)), luminance(backgroundOf(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < minimumContrast) faint.push(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  const images = Array.from(document.images);
  return {
    faint,
    texts,
    imagesWithoutAlt: images.filter((image) => !image.hasAttribute('alt')).length,
    brokenImages: images.filter((image) => image.naturalWidth === 0).length,
    scripts: document.scripts.length,
    overflow: document.documentElement.scrollWidth - innerWidth,
  };
})();
