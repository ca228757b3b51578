/**
 * The template language of messages: Liquid with the tags and filters below, and nothing that reads files, keeps state or loops without
 * bounds (docs/messages-templates.md). check.ts checks the texts of a configuration; messages/render/render.ts renders them.
 */
import { Context, type Emitter, Liquid, LiquidError, type TagToken, type Template, Tokenizer, toValueSync, TypeGuards } from 'liquidjs';
import { isDate } from '../../shared/calendar.js';
import { limits } from '../../shared/limits.js';
import { Memo } from '../../shared/memo.js';

/** The tags that open a block, and those that don't. */
const blockTags = ['if', 'unless', 'case', 'for'] as const;
export const tagNames = [...blockTags, 'assign', 'break', 'continue', 'comment', 'raw'] as const;
const allowedTags: ReadonlySet<string> = new Set(tagNames);

/** The styles of the filter `date`, in the locale of the message. */
export const dateStyles = {
  short: { dateStyle: 'short' },
  medium: { dateStyle: 'medium' },
  long: { dateStyle: 'long' },
  full: { dateStyle: 'full' },
  day: { day: 'numeric', month: 'long' },
  weekday: { weekday: 'long' },
  month: { month: 'long' },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;
type DateStyle = keyof typeof dateStyles;

/** Filters of the library, and own ones, by what they take and return. */
export const filterNames = {
  /** From any value to a value of its kind. */
  same: ['default'],
  /** From a value to a text. */
  text: ['upcase', 'downcase', 'capitalize', 'strip', 'truncate', 'url_encode', 'number', 'date'],
  /** From a value to a number. */
  number: ['plus', 'minus', 'times', 'divided_by', 'modulo', 'round', 'ceil', 'floor', 'abs', 'at_least', 'at_most'],
  /** From a list to a number, an item, a list of one field of the items, a text. */
  list: ['size', 'first', 'last', 'map', 'join'],
} as const;
const allowedFilters: ReadonlySet<string> = new Set(Object.values(filterNames).flat());

/** A text that takes more to render than templates may (limits.templateRenderMs, templateRenderItems). */
export class TemplateOverrun extends Error {
  constructor(cause: unknown) {
    super('a text of a template is too expensive to render', { cause });
    this.name = 'TemplateOverrun';
  }
}

/** A text that is not valid Liquid. Lines and columns count from 1. */
export class TemplateSyntaxError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, [line, column]: readonly [line: number, column: number]) {
    super(message);
    this.name = 'TemplateSyntaxError';
    this.line = line;
    this.column = column;
  }
}

export type ParsedTemplate = readonly Template[];

const engine = new Liquid({
  strictFilters: true,
  // A user can lack an attribute.
  strictVariables: false,
  ownPropertyOnly: true,
  // No templates in files.
  templates: {},
  // A code point is at most two units.
  parseLimit: 2 * Math.max(limits.maxTemplateBodyChars, limits.maxLinkChars),
  renderLimit: limits.templateRenderMs,
  memoryLimit: limits.templateRenderItems,
});
for (const name of Object.keys(engine.tags)) if (!allowedTags.has(name)) Reflect.deleteProperty(engine.tags, name);
for (const name of Object.keys(engine.filters)) if (!allowedFilters.has(name)) engine.unregisterFilter(name);

/** The locale of the message that is rendered. */
function localeOf({ environments }: Context): string {
  const { locale } = environments as { readonly locale?: unknown };
  return typeof locale === 'string' && locale !== '' ? locale : 'en';
}

const numberFormats = new Memo<string, Intl.NumberFormat>(limits.maxCheckedTexts);
const dateFormats = new Memo<string, Intl.DateTimeFormat>(limits.maxCheckedTexts);
/** Fraction digits without an argument, and the most that Intl accepts. */
const defaultDigits = 3;
const maxDigits = 20;

engine.registerFilter('number', function (value: unknown, digits: unknown = defaultDigits): string {
  const number = value === '' || value === null || value === undefined ? NaN : Number(value);
  if (!Number.isFinite(number)) return '';
  const locale = localeOf(this.context);
  const maximumFractionDigits = Math.trunc(Math.min(Math.max(Number(digits) || 0, 0), maxDigits));
  return numberFormats
    .get(`${locale} ${maximumFractionDigits}`, () => new Intl.NumberFormat(locale, { maximumFractionDigits }))
    .format(number);
});
engine.registerFilter('date', function (value: unknown, style: unknown = 'long'): string {
  if (typeof value !== 'string' || !isDate(value) || typeof style !== 'string' || !Object.hasOwn(dateStyles, style)) return '';
  const locale = localeOf(this.context);
  const options = { ...dateStyles[style as DateStyle], timeZone: 'UTC' };
  return dateFormats.get(`${locale} ${style}`, () => new Intl.DateTimeFormat(locale, options)).format(Date.parse(value));
});
/** The library's cuts surrogate pairs in two. */
engine.registerFilter('truncate', (value: unknown, length: unknown = 50, ellipsis: unknown = '…'): string => {
  const chars = Array.from(shownText(value));
  const end = shownText(ellipsis);
  const most = Math.max(Math.trunc(Number(length)) || 0, 0);
  return chars.length <= most ? chars.join('') : chars.slice(0, Math.max(most - Array.from(end).length, 0)).join('') + end;
});

const shownText = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

/** The message of the library without the place, which it appends. */
const withoutPlace = (message: string): string => message.replace(/, line:\d+, col:\d+$/, '');

/** How a tag changes the nesting. */
function levels({ name }: TagToken): number {
  const isBlock = (tag: string): boolean => (blockTags as readonly string[]).includes(tag);
  if (isBlock(name)) return 1;
  return name.startsWith('end') && isBlock(name.slice('end'.length)) ? -1 : 0;
}

/** Refuses what the library would accept in silence: `=` for `==`; and nesting, on which it recurses. */
function checkTags(text: string): void {
  let level = 0;
  for (const token of new Tokenizer(text).readTopLevelTokens(engine.options)) {
    if (!TypeGuards.isTagToken(token)) continue;
    const place = token.getPosition() as [number, number];
    level += levels(token);
    if (level > limits.maxTemplateLevels)
      throw new TemplateSyntaxError(`tags are nested more than ${limits.maxTemplateLevels} levels deep`, place);
    const unquoted = token.args.replace(/"[^"]*"|'[^']*'/g, '');
    if (['if', 'elsif', 'unless'].includes(token.name) && /(?<![=!<>])=(?!=)/.test(unquoted)) {
      throw new TemplateSyntaxError('use == to compare', place);
    }
  }
}

/** Parses a text of a template. Throws a TemplateSyntaxError. */
export function parseTemplate(text: string): ParsedTemplate {
  try {
    checkTags(text);
    return engine.parse(text);
  } catch (error) {
    if (!LiquidError.is(error)) throw error;
    throw new TemplateSyntaxError(`invalid Liquid: ${withoutPlace(error.message)}`, error.token.getPosition() as [number, number]);
  }
}

/** The library checks its limits between nodes only, and counts what few filters return: these filters together return bounded texts. */
for (const [name, filter] of Object.entries(engine.filters)) {
  const handler = typeof filter === 'function' ? filter : filter.handler;
  engine.registerFilter(name, function (...args) {
    const result: unknown = handler.apply(this, args);
    if (typeof result === 'string') this.context.memoryLimit.use(result.length);
    return result;
  });
}

/** A value that is no text, as templates write it: conditions and numbers. */
const stringOf = (value: unknown): string => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : '');

/** Collects what a template writes, up to limits.maxRenderedChars: what is shown of it is far shorter. */
class BoundedText implements Emitter {
  buffer = '';

  write(value: unknown): void {
    const written = Array.isArray(value) ? value.join('') : typeof value === 'string' ? value : stringOf(value);
    this.buffer += written.slice(0, Math.max(limits.maxRenderedChars - this.buffer.length, 0));
  }
}

/**
 * The text that a parsed template makes of variables, as plain text: nothing is escaped. A variable that is not there is empty. Throws a
 * TemplateOverrun. One filter can still take long: texts of operators are rendered in a thread (src/threads).
 */
export function renderTemplate(template: ParsedTemplate, variables: object): string {
  const written = new BoundedText();
  try {
    const context = new Context(variables, engine.options, { sync: true }, { liquid: engine });
    toValueSync(engine.renderer.renderTemplates(template as Template[], context, written));
    return written.buffer;
  } catch (error) {
    if (!LiquidError.is(error)) throw error;
    throw new TemplateOverrun(error);
  }
}
