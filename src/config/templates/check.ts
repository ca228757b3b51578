/** Checks a text of a template against the variables of its type (variables.ts), with the place of each fault in the text. */
import { AssignTag, type Filter, ForTag, Output, type Template, TypeGuards, Value as Expression, type ValueToken } from 'liquidjs';
import { limits } from '../../shared/limits.js';
import { Memo } from '../../shared/memo.js';
import { type NotificationType } from '../schema/message-types.js';
import { type KeyedKind, templateVariables, type Value, type Variable } from './variables.js';
import { dateStyles, filterNames, parseTemplate, TemplateSyntaxError } from './language.js';
import { type Position } from '../file/yaml.js';

/** Something wrong at a place of the text. */
export interface TextFault extends Position {
  readonly message: string;
}

/** A key in the text that must be that of an object in use. */
export interface KeyUse extends Position {
  readonly kind: KeyedKind;
  readonly key: string;
}

export interface CheckedText {
  readonly faults: readonly TextFault[];
  readonly keys: readonly KeyUse[];
  /** Whether the text reads the calendar of the streak, by whatever name. */
  readonly readsStreakDays: boolean;
}

/** What has a place in the text. */
interface Placed {
  getPosition(): number[];
}

const roots: Readonly<Record<string, Variable>> = templateVariables;
const streakDays: Variable = templateVariables.streak.fields.days;
const someText: Value = { value: 'text', description: '' };
const someNumber: Value = { value: 'number', description: '' };
const forloop: Variable = {
  description: 'The loop',
  fields: {
    ...Object.fromEntries(['index', 'index0', 'rindex', 'rindex0', 'length'].map((name) => [name, someNumber])),
    first: someText,
    last: someText,
  },
};

const includes = (names: readonly string[], name: string): boolean => names.includes(name);
const quoted = (name: string): string => JSON.stringify(name);
const allowed = (names: readonly string[]): string => `(allowed: ${names.join(', ')})`;

/** The value of an argument written as a text in quotes. */
const literalText = (argument: Filter['args'][number] | undefined): string | undefined =>
  argument !== undefined && !Array.isArray(argument) && TypeGuards.isQuotedToken(argument) ? argument.content : undefined;

/** What is known of an expression: undefined after a fault, so that one fault has no others in its wake. */
type Known = Variable | undefined;

class TextCheck {
  readonly faults: TextFault[] = [];
  readonly keys: KeyUse[] = [];
  readsStreakDays = false;
  private readonly type: NotificationType;
  private readonly own = new Map<string, Known>();
  private isInLoop = false;

  constructor(type: NotificationType) {
    this.type = type;
  }

  visitAll(templates: readonly Template[]): void {
    for (const template of templates) this.visit(template);
  }

  private visit(template: Template): void {
    if (template instanceof Output) this.output(template);
    else if (template instanceof ForTag) this.loop(template);
    else if (template instanceof AssignTag) this.assign(template);
    else {
      for (const argument of template.arguments?.() ?? []) this.argument(argument, template.token);
      this.visitAll(childrenOf(template));
    }
  }

  private output({ value, token }: Output): void {
    const known = this.expression(value, token);
    if (known && !('value' in known)) this.fault(token, `this is not a text or a number: ${hintFor(known)}`);
  }

  private loop(tag: ForTag): void {
    if (this.isInLoop) this.fault(tag.token, 'a loop inside a loop is not supported');
    const [collection, ...modifiers] = [...tag.arguments()];
    const known = collection && this.argument(collection, tag.token);
    for (const modifier of modifiers) this.argument(modifier, tag.token);
    if (known && !('items' in known)) this.fault(tag.token, 'a loop needs a list, such as streak.days');
    const before = new Map(this.own);
    this.set(tag.variable, known && 'items' in known ? known.items : undefined, tag.token);
    this.own.set('forloop', forloop);
    const wasInLoop = this.isInLoop;
    this.isInLoop = true;
    this.visitAll(childrenOf(tag));
    this.isInLoop = wasInLoop;
    for (const name of [tag.variable, 'forloop']) {
      this.own.delete(name);
      if (before.has(name)) this.own.set(name, before.get(name));
    }
  }

  private assign(tag: AssignTag): void {
    const [argument] = [...tag.arguments()];
    const known = argument && this.argument(argument, tag.token);
    for (const name of tag.localScope()) this.set(name.content, known, tag.token);
  }

  private set(name: string, known: Known, at: Placed): void {
    if (Object.hasOwn(roots, name) || name === 'forloop') this.fault(at, `${quoted(name)} is a variable of Laurel: choose another name`);
    else this.own.set(name, known);
  }

  private argument(argument: Expression | ValueToken, at: Placed): Known {
    return argument instanceof Expression ? this.expression(argument, at) : this.token(argument);
  }

  private expression({ initial, filters }: Expression, at: Placed): Known {
    const operands = initial.postfix.filter((token) => TypeGuards.isValueToken(token));
    const operators = initial.postfix.length - operands.length;
    const known = operands.map((operand) => this.token(operand));
    if (operands.length > 1 && operators === 0) this.fault(at, 'an operator, such as == or and, is missing between two values');
    // A condition is a text: true or false.
    let result: Known = operands.length > 1 || operators > 0 ? someText : known[0];
    if (filters.length > limits.maxTemplateFilters) {
      this.fault(at, `an expression has at most ${limits.maxTemplateFilters} filters, and this one has ${filters.length}`);
      return undefined;
    }
    for (const filter of filters) result = this.filtered(result, filter, at);
    return result;
  }

  private filtered(known: Known, { name, args }: Filter, at: Placed): Known {
    for (const argument of args) {
      const token = TypeGuards.isValueToken(argument) ? argument : (argument as readonly [string?, ValueToken?])[1];
      if (token) this.token(token);
    }
    const style = name === 'date' ? literalText(args[0]) : undefined;
    if (style !== undefined && !Object.hasOwn(dateStyles, style)) {
      this.fault(at, `there is no date style ${quoted(style)} ${allowed(Object.keys(dateStyles))}`);
    }
    if (includes(filterNames.list, name)) return this.listFiltered(known, name, { argument: literalText(args[0]), at });
    if (known && !('value' in known)) {
      this.fault(at, `the filter ${name} needs a text or a number: ${hintFor(known)}`);
      return undefined;
    }
    if (includes(filterNames.same, name)) return known;
    return includes(filterNames.number, name) ? someNumber : someText;
  }

  private listFiltered(
    known: Known,
    name: string,
    { argument, at }: { readonly argument: string | undefined; readonly at: Placed },
  ): Known {
    if (!known) return undefined;
    if (name === 'size' && 'value' in known) return someNumber;
    if (!('items' in known)) {
      this.fault(at, `the filter ${name} needs a list, such as streak.days`);
      return undefined;
    }
    if (name === 'size') return someNumber;
    if (name === 'first' || name === 'last') return known.items;
    if (name === 'join') {
      if (!('value' in known.items)) this.fault(at, 'the filter join needs a list of texts: put map before it, as in map: "name"');
      return someText;
    }
    const { items } = known;
    const field = argument !== undefined && 'fields' in items && Object.hasOwn(items.fields, argument) ? items.fields[argument] : undefined;
    if (!field) {
      this.fault(at, `the filter map needs a field of the items in quotes ${'fields' in items ? allowed(Object.keys(items.fields)) : ''}`);
      return undefined;
    }
    return { description: '', items: field };
  }

  private token(token: ValueToken): Known {
    if (TypeGuards.isPropertyAccessToken(token)) {
      if (token.variable === undefined) return this.resolve(token, token.props);
      this.fault(token, 'only variables have fields');
      return undefined;
    }
    if (TypeGuards.isRangeToken(token)) {
      this.fault(token, 'ranges such as (1..3) are not supported');
      return undefined;
    }
    return TypeGuards.isNumberToken(token) ? someNumber : someText;
  }

  private resolve(at: Placed & { getText(): string }, props: readonly unknown[]): Known {
    const path = props.map((prop) =>
      TypeGuards.isWordToken(prop) || TypeGuards.isQuotedToken(prop) || TypeGuards.isNumberToken(prop) ? prop.content : undefined,
    );
    const [root, ...rest] = path;
    let known = typeof root === 'string' ? this.root(root, at) : undefined;
    for (const [index, segment] of rest.entries()) {
      if (!known) return undefined;
      const name = path.slice(0, index + 1).join('.');
      if (segment === undefined) {
        this.fault(at, `${name} needs a name or a number that is written out, not a variable`);
        return undefined;
      }
      known = this.step(known, segment, { name, at });
    }
    return known;
  }

  private root(name: string, at: Placed): Known {
    if (this.own.has(name)) return this.own.get(name);
    if (!Object.hasOwn(roots, name)) {
      const names = Object.keys(roots).filter((root) => this.isOfType(roots[root]));
      this.fault(at, `there is no variable ${quoted(name)} ${allowed([...names, ...this.own.keys()])}`);
      return undefined;
    }
    const known = roots[name];
    if (this.isOfType(known)) return known;
    this.fault(
      at,
      `there is no variable ${quoted(name)} in templates of the type ${this.type}, only of the type ${known?.only?.join(' or ') ?? ''}`,
    );
    return undefined;
  }

  private isOfType(variable: Known): boolean {
    return variable?.only === undefined || variable.only.includes(this.type);
  }

  private step(known: Variable, segment: string | number, { name, at }: { readonly name: string; readonly at: Placed }): Known {
    if ('keys' in known) {
      const [line = 1, column = 1] = at.getPosition();
      this.keys.push({ kind: known.keys, key: String(segment), line, column });
      return known.each;
    }
    if ('items' in known) {
      if (segment === 'size') return someNumber;
      if (typeof segment === 'number' || segment === 'first' || segment === 'last') return known.items;
    } else if ('fields' in known && typeof segment === 'string' && Object.hasOwn(known.fields, segment)) {
      const field = known.fields[segment];
      if (field === streakDays) this.readsStreakDays = true;
      return field;
    }
    const names = 'items' in known ? ['[0]', 'first', 'last', 'size'] : 'fields' in known ? Object.keys(known.fields) : [];
    this.fault(
      at,
      `there is no variable ${quoted(`${name}.${segment}`)}${names.length > 0 ? ` ${allowed(names)}` : `: ${name} has no fields`}`,
    );
    return undefined;
  }

  private fault(at: Placed, message: string): void {
    const [line = 1, column = 1] = at.getPosition();
    if (this.faults.length < limits.maxComplaints) this.faults.push({ line, column, message });
  }
}

/** What to write in place of a variable that has others in it. */
function hintFor(known: Variable): string {
  if ('items' in known) return 'use a loop, or the filter size, first or map';
  return 'fields' in known ? `choose a field ${allowed(Object.keys(known.fields))}` : 'choose one by its key, as in metrics.cards.total';
}

/** The templates inside a tag. The library's generators yield only while they load files. */
const childrenOf = (template: Template): readonly Template[] => (template.children?.(false, true).next().value ?? []) as Template[];

function checked(type: NotificationType, text: string): CheckedText {
  try {
    const check = new TextCheck(type);
    check.visitAll(parseTemplate(text));
    const { faults, keys, readsStreakDays } = check;
    return { faults, keys, readsStreakDays };
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error;
    const { line, column, message } = error;
    return { faults: [{ line, column, message }], keys: [], readsStreakDays: false };
  }
}

const memo = new Memo<string, CheckedText>(limits.maxCheckedTexts);

/** What is wrong with a text of a template of a type, whatever else is in the configuration, and the keys that it names. */
export const checkText = (type: NotificationType, text: string): CheckedText => memo.get(`${type} ${text}`, () => checked(type, text));
