/** The rules between templates and the rest of a configuration: what they name is in use, links lead to allowed hosts, each text exists once. */
import { Output, type Template, TypeGuards } from 'liquidjs';
import { isAllowedLink } from '../schema/links.js';
import { type ConfigDocument, type ConfigObject, type MessageSettings, type MessageTemplate } from '../schema/model.js';
import { type Parts } from './parts.js';
import { type ConfigProblem, named, type Problem } from '../file/problems.js';
import { checkText, type KeyUse, type TextFault } from '../templates/check.js';
import { type KeyedKind } from '../templates/variables.js';
import { parseTemplate } from '../templates/language.js';
import { type Position } from '../file/yaml.js';

/** The fields of a template that are Liquid. */
const templateTexts = ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'] as const;
type TextField = (typeof templateTexts)[number];

/** What is wrong with the templates of a document, with the place of each fault in its text. */
export function templateProblems(document: ConfigDocument, { templates }: Pick<Parts, 'templates'>): ConfigProblem[] {
  const problemsIn = problemsOfTexts(document);
  const faulty = templates.flatMap(({ object, path }) =>
    problemsIn(object).map((problem): ConfigProblem => {
      const subject = { kind: 'template', key: object.key };
      return { ...problem, path: [...path, problem.field], subject };
    }),
  );
  return [...repeatedLocales(templates), ...faulty];
}

type TextProblem = Extract<Problem, { readonly code: 'template_fault' }> & { readonly field: TextField };

/** What is wrong with the texts of a template, in a document or not, on top of the rest of a document. */
export function problemsOfTexts(document: ConfigDocument): (template: Pick<MessageTemplate, 'type' | TextField>) => TextProblem[] {
  const problemOf = problemsOfKeys(document);
  return (template) =>
    templateTexts.flatMap((field) => {
      const text = template[field];
      if (text === null) return [];
      const { faults, keys } = checkText(template.type, text);
      const found = [...faults, ...keys.flatMap(problemOf)];
      const links = field === 'buttonUrl' && found.length === 0 ? linkFaults(document.messages, text) : [];
      return [...found, ...links].map(({ line, column, message }) => ({ code: 'template_fault' as const, field, line, column, message }));
    });
}

/** Templates of the same type and locale as one before them. */
function repeatedLocales(templates: Parts['templates']): ConfigProblem[] {
  const keys = new Map<string, string>();
  return templates.flatMap(({ object, path }): ConfigProblem[] => {
    const { type, locale, key } = object;
    const other = keys.get(`${type} ${locale}`);
    keys.set(`${type} ${locale}`, other ?? key);
    if (other === undefined) return [];
    return [{ code: 'same_locale', path: [...path, 'locale'], subject: { kind: 'template', key }, other, type, locale }];
  });
}

/** What can be named by its key, archived or not. An object in use replaces an archived one with its key. */
function keyed(document: ConfigDocument): Readonly<Record<KeyedKind, ReadonlyMap<string, ConfigObject>>> {
  const byKey = (objects: readonly ConfigObject[]) =>
    new Map(objects.toSorted((a, b) => Number(b.archived) - Number(a.archived)).map((object) => [object.key, object]));
  return {
    metric: byKey(document.metrics),
    'points system': byKey(document.pointsSystems),
    'user attribute': byKey(document.attributes.filter(({ type }) => type === 'user')),
    leaderboard: byKey(document.leaderboards),
  };
}

function problemsOfKeys(document: ConfigDocument): (use: KeyUse) => TextFault[] {
  const objects = keyed(document);
  return ({ kind, key, line, column }) => {
    const found = objects[kind].get(key);
    if (found?.archived === false) return [];
    return [{ line, column, message: found ? `${named(kind, { key })} is archived` : `there is no ${named(kind, { key })}` }];
  };
}

export type NamedObject = Pick<KeyUse, 'kind' | 'key'>;

/** The objects that the texts of a template name by their keys. */
export function namedIn(template: MessageTemplate): readonly NamedObject[] {
  return templateTexts.flatMap((field) => {
    const text = template[field];
    return text === null ? [] : checkText(template.type, text).keys;
  });
}

/** Whether the path, the query or the fragment of a URL starts here, so that its host has ended. */
const endsHost = (text: string): boolean => /^[/?#]/.test(text);

const placeOf = (template: Template): Position => {
  const [line = 1, column = 1] = template.token.getPosition();
  return { line, column };
};

/** The text of a part of a link that is not Liquid; null for Liquid. */
const plain = ({ token }: Template): string | null => (TypeGuards.isHTMLToken(token) ? token.getContent() : null);

/** A link has its host written out or from brandUrl, leads to an allowed one, and encodes what it inserts. */
function linkFaults(messages: MessageSettings, text: string): TextFault[] {
  const [first, ...rest] = parseTemplate(text);
  if (!first) return [];
  const [second] = rest;
  const refuse = (message: string): TextFault[] => [{ ...placeOf(first), message }];
  const isBrand = first instanceof Output && first.token.content.trim() === 'brand.url';
  if (isBrand && messages.brandUrl === null) return refuse('brand.url is empty: set messages.brandUrl, or write out the host');
  const start = isBrand ? messages.brandUrl : plain(first);
  const hostEnds = isBrand ? endsHost(plain(second ?? first) ?? '') : /^https?:\/\/[^/?#]+[/?#]/i.test(start ?? '');
  if (start === null || (second && !hostEnds)) {
    return refuse('the host of a link must be written out, as in https://example.com/{{ user.id | url_encode }}');
  }
  if (!isAllowedLink(messages, start)) {
    return refuse('must be an http:// or https:// URL whose host is in messages.linkHosts or that of messages.brandUrl');
  }
  return rest.flatMap(partFaults);
}

/** What is wrong with a part of a link after its host. */
function partFaults(part: Template): TextFault[] {
  const refuse = (message: string): TextFault[] => [{ ...placeOf(part), message }];
  const text = plain(part);
  if (text !== null) return /[\s\\]/.test(text) ? refuse('a link has no spaces, line breaks or backslashes') : [];
  if (!(part instanceof Output)) return refuse('a link has outputs such as {{ user.id | url_encode }}, but no tags');
  return part.value.filters.at(-1)?.name === 'url_encode' ? [] : refuse('an output in a link must end with the filter url_encode');
}
