import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { exportConfig } from '../../src/config/file/export.js';
import { isAllowedLink } from '../../src/config/schema/links.js';
import { notificationTypes, type NotificationType } from '../../src/config/schema/message-types.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { checkText } from '../../src/config/templates/check.js';
import { namedValues } from '../../src/config/templates/variables.js';
import {
  filterNames,
  parseTemplate,
  renderTemplate,
  tagNames,
  TemplateOverrun,
  TemplateSyntaxError,
} from '../../src/config/templates/language.js';
import { validateConfig } from '../../src/config/check/validate.js';
import { limits } from '../../src/shared/limits.js';
import { after, apply, lines, messageOf } from '../support/config.js';

const docs = readFileSync(new URL('../../docs/messages-templates.md', import.meta.url), 'utf8');

const parts = `attributes: [{key: city, name: City, type: user}, {key: device, name: Device, type: event}]
metrics: [{key: pages-read, name: Pages}, {key: 2x, name: Twice}]
points: [{key: xp, name: XP}]
leaderboards: [{key: top, name: Top, rankBy: streak}]
messages: {brandUrl: "https://example.com/app", linkHosts: ["help.example.com:8443", "localhost:3000"]}
`;
/** A file with one template of a type; `fields` are in YAML. */
const file = (fields: string, type: NotificationType = 'recap'): string =>
  `${parts}templates:\n  - {key: t, name: T, type: ${type}, locale: en, ${fields}}\n`;
const withBody = (body: string, type?: NotificationType): string => file(`body: ${JSON.stringify(body)}`, type);
/** What is wrong with a body, without the place and the subject. */
const faultsOf = (body: string, type?: NotificationType): string[] =>
  messageOf(emptyConfig, withBody(body, type))
    .split('\n')
    .map((line) => line.replace(/^f\.yaml:7:\d+: template "t": body, line /, ''));

const variables = {
  type: 'recap',
  locale: 'de',
  date: '2026-11-23',
  brand: { name: 'Laurel', url: 'https://example.com' },
  user: { id: 'ana', name: 'Ana', email: '', attributes: { city: '<b>Rome</b> & 🙂🙂🙂' } },
  metrics: { 'pages-read': { name: 'Pages', units: '', total: 12345.678, change: -3 } },
  streak: {
    length: 3,
    days: [
      { date: '2026-11-22', state: 'extended' },
      { date: '2026-11-23', state: 'today' },
    ],
  },
};
const rendered = (text: string): string => renderTemplate(parseTemplate(text), variables);

describe('A text of a template', () => {
  const good: readonly (readonly [text: string, type?: NotificationType])[] = [
    ['Hello {{ user.name | default: user.id }}, {{ date | date: "weekday" }}'],
    ['{{ metrics.pages-read.total | number }} {{ metrics["pages-read"].name }} {{ metrics.2x.units }} {{ points.xp.toNextLevel }}'],
    ['{{ leaderboards.top.rank }} {{ user.attributes.city }} {{ brand.url }} {{ next.name }}'],
    ['{% if streak.length > 1 and user.name != blank %}a{% elsif streak.freezes == 0 %}b{% else %}c{% endif %}'],
    ['{% unless user.email %}a{% endunless %}{% case type %}{% when "recap", locale %}x{% else %}y{% endcase %}'],
    ['{% for day in streak.days reversed limit: 7 %}{{ day.state }}{{ forloop.index }}{% break %}{% else %}{% endfor %}'],
    ['{% assign total = points.xp.total | plus: 1 | times: 2 %}{{ total }}{{ streak.days | map: "state" | join: ", " }}'],
    ['{% assign days = streak.days %}{% for d in days %}{{ d.date }}{% endfor %}{{ days[0].date }}{{ days.last.state }}{{ days.size }}'],
    ['{% comment %}{{ nothing }}{% endcomment %}{% raw %}{{ nothing }}{% endraw %} }} %}'],
    ['{{ achievement.name }} {% for a in achievements %}{{ a.badgeUrl }}{% endfor %}', 'achievement_completed'],
    ['{{ reactivation.daysSinceLastActive }}', 'reactivation'],
    ['{{ period.start | date: "day" }}', 'recap'],
    ['{% if user.attributes.city contains "Rome" %}{{ "text" | upcase }}{% endif %}'],
  ];
  for (const [text, type] of good) {
    it(`is accepted: ${text}`, () => expect(messageOf(emptyConfig, withBody(text, type))).to.equal(''));
  }

  const bad: readonly (readonly [text: string, faults: readonly string[], type?: NotificationType])[] = [
    [
      '{{ usr.name }}',
      [
        '1, column 4: there is no variable "usr" (allowed: type, locale, date, brand, user, metrics, points, streak, next, leaderboards, period)',
      ],
    ],
    [
      '{{ __proto__ }}{{ user.constructor }}',
      ['1, column 4: there is no variable "__proto__"', '1, column 19: there is no variable "user.constructor"'],
    ],
    [`{{ user.name${' | upcase'.repeat(11)} }}`, ['1, column 1: an expression has at most 10 filters, and this one has 11']],
    ['a\n\n {{ user.nam }}', ['3, column 5: there is no variable "user.nam" (allowed: id, name, email, attributes)']],
    ['{{ user.name.first }}', ['1, column 4: there is no variable "user.name.first": user.name has no fields']],
    ['{{ metrics.cats.total }}', ['1, column 4: there is no metric "cats"']],
    ['{{ user.attributes.device }}', ['1, column 4: there is no user attribute "device"']],
    [
      '{{ points.XP.total }}{{ leaderboards.x.rank }}',
      ['1, column 4: there is no points system "XP"', '1, column 25: there is no leaderboard "x"'],
    ],
    ['{{ metrics[user.id].total }}', ['1, column 4: metrics needs a name or a number that is written out, not a variable']],
    [
      '{{ achievement.name }}',
      ['1, column 4: there is no variable "achievement" in templates of the type recap, only of the type achievement_completed'],
    ],
    [
      '{{ period.start }}',
      ['1, column 4: there is no variable "period" in templates of the type streak_reminder, only of the type recap'],
      'streak_reminder',
    ],
    ['{{ reactivation.messageNumber }}', ['1, column 4: there is no variable "reactivation" in'], 'recap'],
    ['{{ user }}', ['1, column 1: this is not a text or a number: choose a field (allowed: id, name, email, attributes)']],
    ['{{ metrics }}', ['1, column 1: this is not a text or a number: choose one by its key']],
    ['{{ streak.days }}', ['1, column 1: this is not a text or a number: use a loop']],
    ['{{ streak.days.first.stat }}', ['1, column 4: there is no variable "streak.days.first.stat" (allowed: date, state)']],
    ['{{ streak.days.third }}', ['1, column 4: there is no variable "streak.days.third" (allowed: [0], first, last, size)']],
    [
      '{% for d in streak.days %}{{ d.stat }}{% endfor %}{{ d.date }}',
      ['1, column 30: there is no variable "d.stat"', '1, column 54: there is no variable "d"'],
    ],
    ['{% for d in user.name %}{% endfor %}', ['1, column 1: a loop needs a list, such as streak.days']],
    ['{% for d in (1..9) %}{{ d }}{% endfor %}', ['1, column 13: ranges such as (1..3) are not supported']],
    ['{{ (1..1000000000) | join }}', ['1, column 4: ranges such as (1..3) are not supported']],
    [
      '{% for d in streak.days %}{% for e in streak.days %}{% endfor %}{% endfor %}',
      ['1, column 27: a loop inside a loop is not supported'],
    ],
    ['{% assign user = 1 %}', ['1, column 1: "user" is a variable of Laurel: choose another name']],
    ['{% assign x = user.nam %}{{ x }}', ['1, column 15: there is no variable "user.nam"']],
    [
      '{% if user.nam == user.nme %}{% endif %}',
      ['1, column 7: there is no variable "user.nam"', '1, column 19: there is no variable "user.nme"'],
    ],
    ['{{ user.name | truncate: user.nam }}', ['1, column 26: there is no variable "user.nam"']],
    ['{{ user | upcase }}', ['1, column 1: the filter upcase needs a text or a number']],
    ['{{ user.name | first }}', ['1, column 1: the filter first needs a list']],
    ['{{ streak.days | map: "x" | join }}', ['1, column 1: the filter map needs a field of the items in quotes (allowed: date, state)']],
    ['{{ streak.days | join }}', ['1, column 1: the filter join needs a list of texts']],
    ['{{ date | date: "%Y" }}', ['1, column 1: there is no date style "%Y" (allowed: short, medium, long, full, day, weekday, month)']],
    ['{% if user.id = "a" %}{% endif %}', ['1, column 1: use == to compare']],
    ['{{ user.id user.name }}', ['1, column 1: an operator, such as == or and, is missing between two values']],
    ['a {{ user.name', ['1, column 3: invalid Liquid: output "{{ user.name" not closed']],
    ['{{ user.name | shout }}', ['1, column 1: invalid Liquid: undefined filter: shout']],
    ...[
      'include "x"',
      'render "x"',
      'layout "x"',
      'capture x',
      'increment x',
      'cycle "a", "b"',
      'tablerow x in y',
      'echo user.id',
      'liquid',
    ].map((tag) => [`{% ${tag} %}`, [`1, column 1: invalid Liquid: tag "${tag.split(' ')[0] ?? ''}" not found`]] as const),
    ...['where: "state"', 'sort', 'json', 'append: "x"', 'escape', 'raw', 'push: 1', 'where_exp: "x", "y"'].map(
      (filter) =>
        [`{{ streak.days | ${filter} }}`, [`1, column 1: invalid Liquid: undefined filter: ${filter.split(':')[0] ?? ''}`]] as const,
    ),
    ['{% if user.id %}', ['1, column 1: invalid Liquid: tag {% if user.id %} not closed']],
    ['{% endif %}', ['1, column 1: invalid Liquid: tag "endif" not found']],
    ['{% if user.id %}'.repeat(9), ['1, column 129: tags are nested more than 8 levels deep']],
    ['{%if type%}'.repeat(400), ['1, column 89: tags are nested more than 8 levels deep']],
  ];
  for (const [text, faults, type] of bad) {
    it(`is refused: ${text.slice(0, 80)}`, () => {
      const found = faultsOf(text, type);
      expect(found).to.have.length(faults.length);
      for (const [index, fault] of faults.entries())
        expect(found[index]).to.satisfy((line: string) => line.startsWith(fault), found.join('\n'));
    });
  }

  it('has at most as many faults as a message names, and is checked in an instant', () => {
    const long = '{{ a }}'.repeat(limits.maxTemplateBodyChars / 7);
    expect(faultsOf(long)).to.have.length(limits.maxComplaints);
  });

  it('renders whatever it is, or has faults', () => {
    const tags = ['if ', 'endif', 'for d in ', 'endfor', 'assign x = ', 'case ', 'when ', 'endcase', 'else', 'break', 'raw', 'endraw'];
    const values = [
      'user',
      '.name',
      '.id',
      'streak.days',
      '[0]',
      '["x"]',
      'x',
      'd.date',
      '1',
      '0',
      '"state"',
      'nil',
      '(1..9)',
      'contains ',
    ];
    const filters = [...Object.values(filterNames).flat(), 'shout'].map((name) => ` | ${name}`);
    const whole = ['{{ user.name }}', '{% if user.id %}', '{% endif %}', '{% for d in streak.days %}', '{{ d.state }}', '{% endfor %}'];
    const signs = ['{{ ', ' }}', '{% ', ' %}', ': ', ', ', ' == ', ' and ', '-', '\n', '(', ')', "'", '🙂'];
    const part = fc.constantFrom(...tags, ...values, ...filters, ...whole, ...signs);
    let renders = 0;
    const check = (parts: readonly string[]): void => {
      const text = parts.join('');
      if (checkText('recap', text).faults.length > 0) return;
      expect(rendered(text)).to.be.a('string');
      renders += 1;
    };
    fc.assert(fc.property(fc.array(part, { maxLength: 12 }), check), { numRuns: 5_000, seed: 14 });
    expect(renders).to.be.above(1_000);
  });

  it('can name exactly the variables of the tree', () => {
    for (const type of notificationTypes) {
      for (const { name, only } of namedValues) {
        const text = `{{ ${name.replaceAll('[]', '[0]').replace('<key>', 'k')} }}`;
        expect(checkText(type, text).faults.length === 0, `${type} ${text}`).to.equal(only?.includes(type) ?? true);
      }
    }
  });

  it('can name exactly the variables of the documentation', () => {
    const rows = [...docs.matchAll(/^\| `([^`]+)` +\| (text|number|date) +\|/gm)].map(([, name, kind]) => [name, kind]);
    expect(rows).to.deep.equal(namedValues.map(({ name, kind }) => [name, kind]));
  });
});

describe('docs/messages-templates.md', () => {
  const blocks = Array.from(docs.matchAll(/^```\w*\n(.*?)^```$/gms), ([, block = '']) => block);
  const [first = '', examples = '', wrong = '', answer = ''] = blocks;

  it('shows templates that are accepted, one for each type', () => {
    expect(after(first).templates.map(({ type, locale }) => [type, locale])).to.deep.equal([
      ['recap', 'en'],
      ['recap', 'pt-BR'],
    ]);
    expect(after(examples).templates.map(({ type }) => type)).to.deep.equal([...notificationTypes]);
  });

  it('shows mistakes as they are reported', () => {
    expect(messageOf(emptyConfig, wrong).replaceAll('f.yaml:', 'messages.yaml:')).to.equal(answer.trimEnd());
  });

  it('names every filter and every tag, and no other', () => {
    const section = docs.slice(docs.indexOf('## Language'), docs.indexOf('## Variables'));
    const names = new Set(Array.from(section.matchAll(/`([a-z_]+)[`:]/g), ([, name = '']) => name));
    const words = ['elsif', 'else', 'when', 'limit', 'offset', 'reversed', 'en', 'de'];
    expect([...names].sort()).to.deep.equal([...new Set([...words, ...tagNames, ...Object.values(filterNames).flat()])].sort());
  });
});

describe('A template', () => {
  const cases: Readonly<Record<string, string>> = {
    'Hi {{ user.name }}': 'Hi Ana',
    '{{ user.email | default: "none" }}|{{ user.attributes.plan }}|{{ points.xp.total }}': 'none||',
    '{{ user.attributes.city }}': '<b>Rome</b> & 🙂🙂🙂',
    '{{ user.attributes.city | truncate: 17 }}': '<b>Rome</b> & 🙂🙂🙂',
    '{{ user.attributes.city | truncate: 16 }}': '<b>Rome</b> & 🙂…',
    '{{ user.attributes.city | truncate: 3, "" }}': '<b>',
    '{{ user.attributes.city | url_encode }}': '%3Cb%3ERome%3C%2Fb%3E+%26+%F0%9F%99%82%F0%9F%99%82%F0%9F%99%82',
    '{{ metrics.pages-read.total | number }}': '12.345,678',
    '{{ metrics.pages-read.total | number: 0 }} {{ metrics.pages-read.total | number: 99 }}': '12.346 12.345,678',
    '{{ user.name | number }}|{{ user.email | number }}|{{ metrics.pages-read.change | abs }}': '||3',
    '{{ date | date }}|{{ date | date: "weekday" }}|{{ date | date: "day" }}|{{ user.name | date }}':
      '23. November 2026|Montag|23. November|',
    '{% for day in streak.days %}{{ day.state }}{% unless forloop.last %}, {% endunless %}{% endfor %}': 'extended, today',
    '{{ streak.days | map: "date" | join: "+" }} {{ streak.days | size }}': '2026-11-22+2026-11-23 2',
    '{{ user.constructor }}{{ user.name.constructor.name }}{{ toString }}': '',
    '{{ metrics.pages-read.total | divided_by: 0 | number }}': '',
  };
  for (const [text, result] of Object.entries(cases)) it(`renders ${text}`, () => expect(rendered(text)).to.equal(result));

  it('is stopped at its memory limit', () => {
    const days = Array.from({ length: limits.templateRenderItems + 1 }, () => ({ state: 'x' }));
    expect(() => renderTemplate(parseTemplate('{{ streak.days | map: "state" | join }}'), { streak: { days } })).to.throw(TemplateOverrun);
  });

  it('renders at most 65,536 characters, however often it repeats a long value', () => {
    const text = `{% assign a = "${'x'.repeat(2_000)}" %}${'{{ a }}'.repeat(100)}`;
    expect(rendered(text)).to.have.length(limits.maxRenderedChars);
  });

  it('is stopped when its filters make one text ever longer', () => {
    const text = `{% assign a = "${'😀'.repeat(100)}" %}${'{% assign a = a | url_encode %}'.repeat(150)}{{ a | size }}`;
    expect(() => rendered(text)).to.throw(TemplateOverrun);
  });

  it('does not render invalid Liquid', () => {
    expect(() => parseTemplate('{{'))
      .to.throw(TemplateSyntaxError)
      .that.includes({ line: 1, column: 1 });
  });
});

describe('Templates in a configuration', () => {
  it('have null for what a file leaves out, and a canonical locale', () => {
    const document = after(
      `${parts}templates: [{key: a, name: A, type: recap, locale: PT-br, heading: ""}, {key: b, name: B, type: recap, locale: en}]`,
    );
    expect(document.templates[0]).to.include({ locale: 'pt-BR', subject: null, heading: '', body: null, pushBody: null });
  });

  it('are exported as they were applied, and applying that changes nothing', () => {
    const document = after(
      `${parts}templates: [{key: a, name: A, type: recap, locale: en, heading: "", body: "a\\n\\n  {{ user.id }}\\t\\n"}]`,
    );
    const text = exportConfig(document);
    expect(apply(document, text).changes).to.deep.equal([]);
    expect(exportConfig(after(text))).to.equal(text);
  });

  it('change field by field, are archived, and come back', () => {
    const document = after(file('subject: A, body: B'));
    expect(lines(document, file('subject: A, body: ""').replace('body: ""', 'heading: ""'))).to.deep.equal([
      '~ template t: heading none -> "", body "B" -> none',
    ]);
    const archived = apply(document, parts, { prune: true }).document;
    expect(archived.templates.map((template) => template.archived)).to.deep.equal([true]);
    expect(lines(archived, file('subject: A, body: B'))).to.deep.equal(['+ template t (archived until now, with its data)']);
  });

  it('keep what they name from being archived, and can go with it', () => {
    const document = after(withBody('{{ metrics.2x.total }} {{ user.attributes.city }}'));
    const kept = `templates: [{key: t, name: T, type: recap, locale: en, body: "{{ metrics.2x.total }} {{ user.attributes.city }}"}]`;
    expect(messageOf(document, kept, { prune: true })).to.equal(
      'f.yaml:1:66: template "t": body, line 1, column 4: metric "2x" is archived\n' +
        'f.yaml:1:89: template "t": body, line 1, column 27: user attribute "city" is archived',
    );
    expect(messageOf(document, 'metrics: []', { prune: true })).to.equal('');
  });

  it('name the new object with a key that had another one', () => {
    const document = after(withBody('{{ leaderboards.top.rank }}'));
    const without = apply(document, 'metrics: []', { prune: true }).document;
    const board = (name: string): string => `leaderboards: [{key: top, name: ${name}, rankBy: streak}]\n`;
    const again = apply(
      without,
      `${board('New')}templates: [{key: t, name: T, type: recap, locale: en, body: "{{ leaderboards.top.rank }}"}]`,
    ).document;
    expect(again.leaderboards.map(({ archived }) => archived)).to.deep.equal([true, false]);
    expect(validateConfig(again)).to.deep.equal([]);
  });

  it('are refused when the settings no longer allow their links', () => {
    const document = after(file('buttonUrl: "https://help.example.com:8443/a"'));
    expect(messageOf(document, 'messages: {linkHosts: []}')).to.equal(
      'f.yaml: template "t": buttonUrl, line 1, column 1: must be an http:// or https:// URL whose host is in messages.linkHosts or that of messages.brandUrl',
    );
  });

  it('are at most 200', () => {
    const some = Array.from(
      { length: 201 },
      (_, i) => `  - {key: t${i}, name: T, type: recap, locale: "en-u-ca-a${String(i).padStart(5, '0')}"}`,
    );
    expect(messageOf(emptyConfig, `templates:\n${some.join('\n')}`)).to.include('201 templates exceed the limit of 200');
  });

  it('are checked again in milliseconds, however many and long', () => {
    const texts = Array.from({ length: 50 }, (_, i) =>
      notificationTypes.map((type) => ({ type, locale: `en-u-ca-a${String(i).padStart(5, '0')}` })),
    ).flat();
    const body = '{{ metrics.2x.total }}{{ user.attributes.city }}'.repeat(80);
    const templates = texts.map(({ type, locale }, i) => ({ key: `t${i}`, name: 'T', type, locale, body: `${i}${body}` }));
    const document = after(parts, JSON.stringify({ templates }));
    const start = performance.now();
    expect(validateConfig(document)).to.deep.equal([]);
    expect(performance.now() - start).to.be.below(500);
  });
});

describe('Settings of messages', () => {
  it('keep the attribute that they name from being archived', () => {
    const document = after('attributes: [{key: language, name: Language, type: user}]\nmessages: {localeAttribute: language}\n');
    expect(messageOf(document, '\nmetrics: []', { prune: true })).to.equal('f.yaml: messages: user attribute "language" is archived');
    expect(messageOf(document, 'messages: {localeAttribute: null}', { prune: true })).to.equal('');
  });
});

describe('The place of a fault of a template', () => {
  const places: Readonly<Record<string, readonly [text: string, place: string]>> = {
    'in a literal block': ['    body: |\n      a\n\n        {{ x }}', '10:12'],
    'in a literal block with an indentation and a comment': ['    body: |2- # c\n        {{ x }}\n      b', '8:12'],
    'in a plain text': ['    body: a {{ x }}', '7:16'],
    'in quotes': ['    body: "a {{ x }}"', '7:17'],
    'in single quotes': ["    body: 'a {{ x }}'", '7:17'],
    'is the start of a text with escapes': ['    body: "\\u0061 {{ x }}"', '7:11'],
    'is the start of a folded block': ['    body: >\n      a\n      {{ x }}', '7:11'],
    'is the start of a text over several lines': ['    body: "a\n\n      {{ x }}"', '7:11'],
    'is that of the anchor, of an alias': ['    heading: &a a {{ x }}\n    body: *a', '7:22'],
  };
  for (const [what, [text, place]] of Object.entries(places)) {
    it(what, () => {
      const start = 'settings: {}\ntemplates:\n  - key: t\n    name: T\n    type: recap\n    locale: en\n';
      expect(
        messageOf(emptyConfig, start + text)
          .split('\n')
          .at(-1),
      ).to.match(new RegExp(`^f\\.yaml:${place}: template "t": body`));
      expect(
        messageOf(emptyConfig, (start + text).replaceAll('\n', '\r\n'))
          .split('\n')
          .at(-1),
      ).to.match(new RegExp(`^f\\.yaml:${place}: `));
    });
  }
});

describe('Links in messages', () => {
  const settings = { ...emptyConfig.messages, brandUrl: 'https://example.com/app', linkHosts: ['help.example.com:8443', 'localhost:3000'] };
  const links: Readonly<Record<string, boolean>> = {
    'https://example.com': true,
    'https://EXAMPLE.com/a?b=c#d': true,
    'http://example.com/x': true,
    'https://example.com:443/': true,
    'https://help.example.com:8443/x': true,
    'http://localhost:3000/': true,
    'https://help.example.com/x': false,
    'https://example.com:8443/': false,
    'https://www.example.com/': false,
    'https://example.com.evil.org/': false,
    'https://evil.org/https://example.com': false,
    'https://example.com@evil.org/': false,
    'https://a@example.com/': false,
    'https://evil.org\\@example.com/': false,
    'https://example.com\\@evil.org/': false,
    '//example.com/': false,
    'example.com': false,
    '': false,
    'javascript:alert(1)//example.com': false,
    'data:text/html,x': false,
    'ftp://example.com/': false,
    'java\nscript:alert(1)': false,
    'https://example.com/a b': false,
    ' https://example.com/': false,
    'https://example.com/\n': false,
    'https://exam\tple.com/': false,
    [`https://example.com/${'a'.repeat(2048)}`]: false,
  };
  for (const [url, isAllowed] of Object.entries(links)) {
    it(`${isAllowed ? 'may' : 'may not'} lead to ${JSON.stringify(url.slice(0, 60))}`, () =>
      expect(isAllowedLink(settings, url)).to.equal(isAllowed));
  }

  const host = 'the host of a link must be written out';
  const other = 'must be an http:// or https:// URL whose host is in messages.linkHosts';
  const buttons: Readonly<Record<string, string>> = {
    '{{ brand.url }}': '',
    '{{brand.url}}/u?id={{ user.id | url_encode }}#x': '',
    'https://example.com/': '',
    'https://example.com': '',
    'https://help.example.com:8443?c={{ user.attributes.city | truncate: 9 | url_encode }}': '',
    '{{ brand.url }}.evil.org': host,
    '{{ brand.url }}{{ user.id | url_encode }}': host,
    'https://{{ user.id | url_encode }}/': host,
    'https://example.com{{ user.id | url_encode }}': host,
    '{{ user.id }}': host,
    '{% if user.id %}https://example.com/{% endif %}': host,
    '{{ brand.url | downcase }}': host,
    'mailto:{{ user.id }}': host,
    'https://evil.org/': other,
    'https://example.com@evil.org/{{ user.id | url_encode }}': other,
    'javascript:alert(1)': other,
    'app://x': other,
    'https://example.com/{{ user.id }}': 'an output in a link must end with the filter url_encode',
    'https://example.com/{{ user.id | url_encode | upcase }}': 'an output in a link must end with the filter url_encode',
    'https://example.com/{{ user.id | url_encode }}/a b': 'a link has no spaces, line breaks or backslashes',
    'https://example.com/{% if user.id %}a{% endif %}': 'a link has outputs such as {{ user.id | url_encode }}, but no tags',
  };
  for (const [url, fault] of Object.entries(buttons)) {
    it(`of buttons are ${fault === '' ? 'accepted' : 'refused'}: ${url}`, () => {
      const message = messageOf(emptyConfig, file(`buttonUrl: ${JSON.stringify(url)}`));
      expect(
        message === '' ? '' : message.replace(/^f\.yaml:7:\d+: template "t": buttonUrl, line 1, column \d+: /, '').slice(0, fault.length),
      ).to.equal(fault);
    });
  }

  it('need a brandUrl where they start with it', () => {
    expect(messageOf(emptyConfig, 'templates: [{key: t, name: T, type: recap, locale: en, buttonUrl: "{{ brand.url }}"}]')).to.include(
      'brand.url is empty: set messages.brandUrl, or write out the host',
    );
  });
});
