import type { MessageTemplate } from '../../config/schema/model.js';
import { render, type RenderedText } from '../../threads/render-tasks.js';
import { Overrun } from '../../threads/thread.js';
import { renderThread } from '../../threads/threads.js';
import { LaurelError } from '../../shared/errors.js';
import type { TextField } from './defaults.js';
import type { MessageVariables } from './variables.js';

/** A template of an operator: one that is stored has an id. */
export type OwnTemplate = Pick<MessageTemplate, 'type' | 'locale'> & Partial<Pick<MessageTemplate, 'id' | 'key' | 'updated'>>;

/** A text to render, and the template that it is of; null for a built-in text. */
export interface FieldText extends RenderedText {
  readonly field: TextField;
  readonly template: OwnTemplate | null;
}

/** A text of a template passed the limits of rendering. */
export class TextOverrun extends LaurelError {
  readonly template: OwnTemplate;
  readonly field: TextField;

  constructor(template: OwnTemplate, field: TextField) {
    super('unprocessable', `The template is too expensive to render (${field}): use fewer filters and loops.`);
    this.name = 'TextOverrun';
    this.template = template;
    this.field = field;
  }
}

/** The templates that a sender has switched off. */
export interface SwitchedOff {
  /** The field whose text passed the limits; undefined for a template that is used. */
  fieldOf(template: OwnTemplate): TextField | undefined;
}

type OwnText = FieldText & { readonly template: OwnTemplate };
const isOwn = (text: FieldText): text is OwnText => text.template !== null;

function checkOn(off: SwitchedOff, { template }: OwnText): void {
  const field = off.fieldOf(template);
  if (field !== undefined) throw new TextOverrun(template, field);
}

/** Renders texts of operators in the thread: null for one that passes the limits. */
const renderOwn = async (texts: readonly OwnText[], variables: object): Promise<readonly (string | null)[]> =>
  texts.length === 0 ? [] : renderThread.run('renderAll', { texts: texts.map(({ text, locale }) => ({ text, locale })), variables });

/**
 * Renders texts one by one after they took too long together, so that it is known which one did, and so that none is blamed for a machine that was
 * busy for a moment.
 */
async function renderEach(texts: readonly OwnText[], variables: object, off: SwitchedOff): Promise<(string | null)[]> {
  const rendered: (string | null)[] = [];
  for (const text of texts) {
    // Another message with the template may have passed the limits by now.
    checkOn(off, text);
    const [one = null] = await renderOwn([text], variables).catch((error: unknown) => {
      if (error instanceof Overrun) return [null];
      throw error;
    });
    rendered.push(one);
    if (one === null) break;
  }
  return rendered;
}

/**
 * Renders texts with bounded variables (bounds.ts): those of operators in a thread, built-in ones here. Throws a TextOverrun for a text that passes the
 * limits. With `off` it finds out which text that is, and renders none of a template that is switched off.
 */
export async function renderFields(
  texts: readonly FieldText[],
  variables: MessageVariables,
  off?: SwitchedOff,
): Promise<readonly string[]> {
  const own = texts.filter(isOwn);
  if (off) for (const text of own) checkOn(off, text);
  const rendered = await renderOwn(own, variables).catch((error: unknown) => {
    if (!(error instanceof Overrun)) throw error;
    return off ? renderEach(own, variables, off) : [null];
  });
  const failed = own[rendered.indexOf(null)];
  if (failed) throw new TextOverrun(failed.template, failed.field);
  const ofOwn = new Map(own.map((text, index) => [text, rendered[index]]));
  return texts.map((text) => (isOwn(text) ? ofOwn.get(text) : render(text, variables)) ?? '');
}
