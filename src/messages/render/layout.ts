import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Liquid, type Template } from 'liquidjs';
import { tidyLines } from './bounds.js';

const folder = fileURLToPath(new URL('../../../templates/', import.meta.url));

const strict = { ownPropertyOnly: true, strictFilters: true, strictVariables: true, greedy: true } as const;

/** Escapes every value: there is no way around it in the layout. */
const html = new Liquid({ ...strict, outputEscape: 'escape' });
const plain = new Liquid(strict);

interface Layout {
  readonly engine: Liquid;
  readonly parsed: Template[];
}

function load(engine: Liquid, name: string): Layout {
  return { engine, parsed: engine.parse(readFileSync(folder + name, 'utf8')) };
}

/** The layout of emails, read once, when the first email is rendered. */
let layouts: { readonly html: Layout; readonly text: Layout } | undefined;

/** Fills the layout in, as HTML and as plain text. */
export function renderLayout(view: object): { readonly html: string; readonly text: string } {
  layouts ??= { html: load(html, 'email.liquid'), text: load(plain, 'email.txt.liquid') };
  const render = ({ engine, parsed }: Layout): string => engine.renderSync(parsed, view) as string;
  return {
    html: render(layouts.html),
    text: `${tidyLines(render(layouts.text))}\n`,
  };
}
