import { expect } from 'chai';
import { brandFonts, notificationTypes, type NotificationType } from '../../src/config/schema/message-types.js';
import type { MessageTemplate } from '../../src/config/schema/model.js';
import { checkText } from '../../src/config/templates/check.js';
import { contrast, readableOn, textOn } from '../../src/messages/render/colors.js';
import { defaultTexts } from '../../src/messages/render/defaults.js';
import { fontStacks } from '../../src/messages/render/fonts.js';
import { type MessageLinks, renderEmail, renderPush } from '../../src/messages/render/render.js';
import { textFields } from '../../src/messages/render/defaults.js';
import { type MessageConfig } from '../../src/messages/render/texts.js';
import { type MessageVariables } from '../../src/messages/render/variables.js';
import { wordLocales, wordsFor } from '../../src/messages/render/words.js';
import { limits } from '../../src/shared/limits.js';
import { messageConfig, messageVariables, withTexts } from '../support/message-variables.js';

const links: MessageLinks = {
  click: (url) => `https://laurel.example/m/c/${encodeURIComponent(url)}`,
  unsubscribeUrl: 'https://laurel.example/m/u/token',
};
const email = (config: MessageConfig, variables: MessageVariables) => renderEmail(config, variables, links);

/** Characters that HTML, attributes and headers give a meaning, and the text of a script. */
const hostile = `<script>alert(1)</script>"'&amp; {{ user.id }}`;
const long = (char: string): string => char.repeat(10_000);
const cutTo = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`);

/** The contents of a page in the order of the source: of elements, without comments, styles, what is hidden and column headings. */
function shownTexts(html: string): string[] {
  const shown = html
    .replace(/<!--.*?-->|<head>.*?<\/head>|<th scope="col".*?<\/th>|<div style="display:none.*?<\/div>/gs, '')
    .split(/<[^>]*>/)
    .map((text) => text.replaceAll('&nbsp;', ' ').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&#34;', '"'))
    .map((text) => text.replaceAll('&#39;', "'").replaceAll('&amp;', '&').trim());
  return shown.filter((text) => text !== '');
}

describe('The name of a user, who may choose it,', () => {
  const config = messageConfig({}, [
    {
      type: 'recap',
      subject: '{{ user.name }}: your week',
      heading: 'Hello {{ user.name }}!',
      body: 'To {{ user.name }}, {{ user.email }}.',
      pushTitle: '{{ user.name }}',
      pushBody: 'Hello {{ user.name }}',
    },
  ]);
  const names: readonly (readonly [what: string, name: string, shown: string])[] = [
    ['a plain one', 'Ana-María O’Neill', 'Ana-María O’Neill'],
    ['one with initials and titles', 'Dr. J.R.R. Tolkien, Ph.D.', 'Dr. J.R.R. Tolkien, Ph.D.'],
    ['one with a line break', 'Ana\r\nBcc: ben@example.com', 'Ana Bcc: ben@\u200bexample.\u200bcom'],
    ['one with control characters and a turned direction', 'A\u0000n\u202ea\u001b[31m', 'Ana[31m'],
    ['one with an address of a site', 'Win at https://evil.example/x.php', 'Win at https:\u200b//evil.\u200bexample/x.\u200bphp'],
    ['one with a site without a scheme', 'www.evil.example', 'www.\u200bevil.\u200bexample'],
    ['one with another kind of dot', 'evil。example', 'evil。\u200bexample'],
    ['one of 200 characters', 'x'.repeat(200), `${'x'.repeat(79)}…`],
  ];
  for (const [what, name, shown] of names) {
    it(`leads nowhere and is short in the subject, the heading and the texts: ${what}`, async () => {
      const plain = messageVariables('recap');
      const variables = { ...plain, user: { ...plain.user, name, email: 'ana@example.com' } };
      const { subject, html, text } = await email(config, variables);
      expect(subject).to.equal(`${shown}: your week`);
      const texts = shownTexts(html);
      expect(texts).to.include(`Hello ${shown}!`).and.include(`To ${shown}, ana@example.com.`);
      expect(text).to.include(`Hello ${shown}!`);
      expect(await renderPush(config, variables)).to.deep.include({
        title: cutTo(shown, limits.maxPushTitleChars),
        body: `Hello ${shown}`,
      });
    });
  }

  it('is a text in HTML', async () => {
    const plain = messageVariables('recap');
    const name = '<a href="https://evil.example">Log in</a><img src=x onerror=alert(1)>';
    const { html } = await email(config, { ...plain, user: { ...plain.user, name } });
    expect(html).to.not.include('<a href="https://evil').and.not.include('<img src=x').and.not.include('evil.example');
  });
});

describe('The language of a message', () => {
  const all: readonly Partial<MessageTemplate>[] = [
    { locale: 'pt-BR', subject: 'pt-BR', body: null, button: null },
    { locale: 'pt', subject: 'pt', body: 'pt' },
    { locale: 'de', subject: 'de', heading: 'de', body: 'de', button: 'de' },
    { locale: 'fr', subject: 'fr', body: 'fr', archived: true },
    { locale: 'es', subject: 'es', type: 'reactivation' },
    { locale: 'zh-Hant', subject: 'zh-Hant' },
  ];
  const config = messageConfig({ defaultLocale: 'de' }, all);
  const cases: readonly (readonly [locale: string, subject: string, body: string, button: string])[] = [
    ['pt-BR', 'pt-BR', 'pt', 'de'],
    ['pt-PT', 'pt', 'pt', 'de'],
    ['pt', 'pt', 'pt', 'de'],
    ['zh-Hant-TW', 'zh-Hant', 'de', 'de'],
    ['de-AT', 'de', 'de', 'de'],
    // Archived, and of another type.
    ['fr', 'de', 'de', 'de'],
    ['es', 'de', 'de', 'de'],
    ['ja', 'de', 'de', 'de'],
  ];
  for (const [locale, subject, body, button] of cases) {
    it(`falls back field by field for ${locale}`, async () => {
      const { html, ...rendered } = await email(config, messageVariables('recap', { locale }));
      expect(rendered.subject).to.equal(subject);
      expect(shownTexts(html)).to.include(body).and.include(button);
    });
  }

  it('is the built-in English without a template', async () => {
    const { subject, html } = await email(messageConfig({ defaultLocale: 'nl' }), messageVariables('recap', { locale: 'it' }));
    expect(subject).to.equal('Your week in review');
    expect(html).to.include('<html lang="en" dir="ltr"');
  });

  it('decides how dates and numbers are written', async () => {
    const body = '{{ period.start | date }} {{ metrics.cards.total | number }}';
    const swiss = new Intl.NumberFormat('de-CH').format(12_840);
    const german = messageConfig({}, [{ locale: 'de', body }]);
    const { text } = await email(german, messageVariables('recap', { locale: 'de-CH' }));
    expect(text).to.include(`8. Januar 2040 ${swiss}`).and.include(`Flashcards viewed: ${swiss} flashcards (+312)`);
    const english = await email(messageConfig({}, [{ locale: 'en', body }]), messageVariables('recap', { locale: 'de-CH' }));
    expect(english.text).to.include('January 8, 2040 12,840').and.include('Flashcards viewed: 12,840 flashcards (+312)');
  });

  it('is written from right to left where it is', async () => {
    const config = messageConfig({}, [{ locale: 'ar', subject: 'مرحبا', body: 'مرحبا {{ user.name }}' }]);
    const arabic = await email(config, messageVariables('recap', { locale: 'ar-EG' }));
    expect(arabic.html).to.include('<html lang="ar-EG" dir="rtl"').and.include('<td align="left" class="muted rule"');
    const english = await email(messageConfig(), messageVariables('recap', { locale: 'ar-EG' }));
    expect(english.html).to.include('<html lang="en" dir="ltr"');
  });

  it('is that of the words of the layout, where they are translated', async () => {
    const placeholders = /\{\w+\}/g;
    const flat = (value: unknown): string[] => (typeof value === 'string' ? [value] : Object.values(value as object).flatMap(flat));
    const english = flat(wordsFor('en'));
    for (const locale of wordLocales) {
      const words = flat(wordsFor(locale));
      expect(
        words.map((text) => text.match(placeholders)?.sort()),
        locale,
      ).to.deep.equal(english.map((text) => text.match(placeholders)?.sort()));
      const config = messageConfig({}, [{ locale, body: 'x' }]);
      const { html } = await email(config, messageVariables('recap', { locale }));
      expect(html).to.include(`<html lang="${locale}"`).and.include(wordsFor(locale).reasons.recap);
      expect(html.match(/\{\w+\}/)).to.equal(null);
    }
    expect([wordsFor('de-AT').locale, wordsFor('ja').locale, wordsFor('constructor').locale]).to.deep.equal(['de', 'en', 'en']);
  });

  it('has a push notification of its own', async () => {
    const config = messageConfig({}, [{ locale: 'de', pushTitle: 'Titel', pushBody: 'Text\nin zwei Zeilen' }]);
    const push = await renderPush(config, messageVariables('recap', { locale: 'de' }));
    expect(push).to.deep.equal({ title: 'Titel', body: 'Text in zwei Zeilen', url: 'https://app.example.com/', warnings: [] });
  });
});

describe('The built-in texts', () => {
  for (const type of notificationTypes) {
    it(`of ${type} are valid templates that name no object of a configuration`, () => {
      const checked = textFields.map((field) => checkText(type, defaultTexts[type][field] ?? ''));
      expect(checked.flatMap(({ faults, keys }) => [...faults, ...keys])).to.deep.equal([]);
    });
  }

  const empty: Partial<MessageVariables> = {
    user: { id: 'ana', name: '', email: '', attributes: {} },
    metrics: {},
    points: {},
    leaderboards: {},
    streak: { length: 0, frequency: 'daily', freezes: 0, expires: '', days: [] },
    next: { name: '', description: '', current: 0, target: 0, progress: 0 },
  };
  const subjects: readonly (readonly [NotificationType, eager: string, empty: string])[] = [
    ['achievement_completed', 'You completed 2 achievements', 'You completed 2 achievements'],
    ['recap', 'Your week in review', 'Your week in review'],
    ['reactivation', 'You are 63% of the way to “First hundred”', 'Pick up where you left off'],
    ['streak_reminder', 'Keep your 12-day streak', 'Keep your 0-day streak'],
  ];
  for (const [type, eager, withoutAnything] of subjects) {
    it(`of ${type} suit users with a lot and users with nothing`, async () => {
      expect((await email(messageConfig(), messageVariables(type))).subject).to.equal(eager);
      const { subject, text } = await email(messageConfig(), messageVariables(type, empty));
      expect(subject).to.equal(withoutAnything);
      expect(text).to.not.match(/ ,|, [!?.]|\( |“”|undefined|null|NaN/);
      const { title, body } = await renderPush(messageConfig(), messageVariables(type, empty));
      expect([title, body].filter((part) => part === '')).to.deep.equal([]);
    });
  }
});

describe('The built-in texts about inactive users', () => {
  for (const [days, shown] of [
    [1, 'It has been 1 day since'],
    [2, 'It has been 2 days since'],
  ] as const) {
    it(`say ${shown}`, async () => {
      const next = { name: '', description: '', current: 0, target: 0, progress: 0 };
      const variables = messageVariables('reactivation', { next, reactivation: { daysSinceLastActive: days, messageNumber: 1 } });
      expect((await email(messageConfig(), variables)).text).to.include(shown);
      expect((await renderPush(messageConfig(), variables)).body).to.include(shown);
    });
  }
});

describe('The list of achievements', () => {
  const achievements = (count: number): Partial<MessageVariables> => ({
    achievements: Array.from({ length: count }, (_, i) => ({ name: `Achievement ${i + 1}`, description: '', badgeUrl: '' })),
  });
  const more: Readonly<Record<string, string>> = {
    en: 'and 1 more',
    ar: `و${new Intl.NumberFormat('ar').format(1)} غيرها`,
    de: 'und 1 mehr',
    es: 'y 1 más',
    fr: 'et 1 de plus',
    pt: 'e mais 1',
  };
  for (const locale of wordLocales) {
    it(`says in ${locale} how many it leaves out`, async () => {
      const config = messageConfig({}, [{ type: 'achievement_completed', locale, body: 'x' }]);
      const rendered = (count: number) => email(config, messageVariables('achievement_completed', { locale, ...achievements(count) }));
      const six = await rendered(6);
      expect(six.text).to.include(`★ Achievement 5\n\n${more[locale]}\n`).and.not.include('Achievement 6');
      expect(shownTexts(six.html)).to.include(more[locale]);
      expect((await rendered(5)).html).to.not.include('<p class="muted"');
    });
  }
});

describe('A rendered message', () => {
  for (const type of notificationTypes) {
    it(`escapes every value, and every text of a template, in ${type}`, async () => {
      const templates = [{ type, subject: `${hostile}{{ user.name }}`, heading: hostile, body: hostile, button: hostile }];
      const variables = withTexts(messageVariables(type), hostile);
      const brand = { brandName: hostile, brandAddress: hostile };
      for (const config of [messageConfig(brand), messageConfig(brand, templates)]) {
        const { html } = await email(config, variables);
        expect(html)
          .to.not.include('<script')
          .and.not.match(/"'&(?!amp;amp;)/);
        // Everything that is in quotes is an attribute that the layout has.
        const plain = await email(messageConfig({ brandAddress: 'a' }), messageVariables(type));
        const names = (page: string): Set<string> => new Set(Array.from(page.matchAll(/ ([\w-]+)="[^"]*"/g), ([, name = '']) => name));
        expect([...names(html)].filter((name) => !names(plain.html).has(name))).to.deep.equal([]);
      }
    });

    it(`has every text of the HTML in the plain text too, in ${type}`, async () => {
      const { html, text } = await email(messageConfig({ brandAddress: '1 Main Street\nLisbon' }), messageVariables(type));
      const missing = shownTexts(html).filter((shown) => !text.includes(shown));
      expect(missing).to.deep.equal([]);
      expect(text)
        .to.include('https://laurel.example/m/c/https%3A%2F%2Fapp.example.com%2F')
        .and.include('https://laurel.example/m/u/token');
    });

    for (const [name, char] of [
      ['escaped', '"'],
      ['four-byte', '𝕏'],
      ['blank', 'a\n\n'],
      ['line-breaking', 'a\n'],
    ] as const) {
      it(`stays below 102 KB with the longest ${name} texts, in ${type}`, async () => {
        const texts = Object.fromEntries(
          ['subject', 'heading', 'body', 'button', 'pushTitle', 'pushBody'].map((field) => [field, long(char).slice(0, 4_999)]),
        );
        const badgeUrl = `https://example.com/${'&'.repeat(limits.maxMessageImageChars - 'https://example.com/'.length)}`;
        const many = <T>(one: T): Record<string, T> => Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, one]));
        const sample = messageVariables(type);
        const largest = withTexts(
          {
            ...sample,
            metrics: many(sample.metrics['cards']!),
            points: many(sample.points['xp']!),
            leaderboards: many(sample.leaderboards['weekly']!),
          },
          long(char),
        );
        const achievement = { name: long(char), description: long(char), badgeUrl };
        const variables =
          type === 'achievement_completed'
            ? { ...largest, achievement, achievements: Array.from({ length: 100 }, () => achievement) }
            : largest;
        const brand = { brandName: long(char).slice(0, 100), brandAddress: long(char).slice(0, 500), brandLogoUrl: badgeUrl };
        const buttonUrl = `https://app.example.com/${'a'.repeat(limits.maxMessageLinkChars - 'https://app.example.com/'.length)}`;
        const config = messageConfig(brand, [{ type, ...texts, buttonUrl }]);
        const { html, subject, warnings } = await email(config, variables);
        expect(Buffer.byteLength(html)).to.be.below(limits.maxEmailBytes);
        expect(Array.from(subject).length).to.be.at.most(limits.maxSubjectChars);
        expect(warnings).to.deep.equal([]);
        const push = await renderPush(config, variables);
        expect(Buffer.byteLength(JSON.stringify(push))).to.be.below(3_500);
      });
    }
  }

  it('has a subject on one line, without control characters and marks that turn text around', async () => {
    const name = 'Ana\r\nBcc: all@example.com\u0000\u202e\u2028x\ty';
    const config = messageConfig({}, [{ subject: 'For\n{{ user.name }} {{ user.attributes.city }}' }]);
    const user = { id: 'ana', name, email: '', attributes: { city: name } };
    const { subject } = await email(config, messageVariables('recap', { user }));
    expect(subject).to.equal('For Ana Bcc: all@\u200bexample.\u200bcom x y Ana Bcc: all@example.com x y');
  });

  it('cuts a huge attribute, and never in the middle of a character', async () => {
    const config = messageConfig({}, [{ subject: '{{ user.attributes.city }}', body: '{{ user.attributes.city }}' }]);
    const user = { id: 'ana', name: '', email: '', attributes: { city: '𝕏'.repeat(1_000) } };
    const { subject, text } = await email(config, messageVariables('recap', { user }));
    expect(subject).to.equal(`${'𝕏'.repeat(limits.maxSubjectChars - 1)}…`);
    expect(text).to.include(`\n${'𝕏'.repeat(limits.maxMessageValueChars - 1)}…\n`);
  });

  it('can be unsubscribed from where there is a link, and has none otherwise', async () => {
    const { html, text } = await renderEmail(messageConfig(), messageVariables('recap'), { ...links, unsubscribeUrl: null });
    expect([html, text].filter((part) => part.includes('nsubscribe'))).to.deep.equal([]);
    expect((await email(messageConfig(), messageVariables('recap'))).html).to.include('<a href="https://laurel.example/m/u/token"');
  });

  it('leaves out an empty heading, an empty button and paragraphs without a text', async () => {
    const config = messageConfig({}, [
      { heading: '', button: '', body: 'one\n\n{% if user.name == "Ben" %}two{% endif %}\n\nthree\nfour' },
    ]);
    const { html } = await email(config, messageVariables('recap'));
    expect(html).to.not.include('<h1').and.not.include('m/c/');
    expect(html.match(/<p class="text"/g)).to.have.length(2);
    expect(html).to.include('three<br>four');
  });
});

describe('The link of a message', () => {
  const cases: readonly (readonly [buttonUrl: string | null, url: string | null, warning?: string])[] = [
    [null, 'https://app.example.com/'],
    ['https://app.example.com/u/{{ user.id }}?x="', 'https://app.example.com/u/ana?x="'],
    ['https://shop.example.com/', 'https://shop.example.com/'],
    ['https://evil.example.com/', null, 'the link of the template is not allowed; its host is "evil.example.com"'],
    ['https://app.example.com.evil.com/', null, 'the link of the template is not allowed; its host is "app.example.com.evil.com"'],
    ['https://app.example.com@evil.com/', null, 'the link of the template is not allowed; its host is "evil.com"'],
    ['javascript:alert(1)', null, 'the link of the template is not allowed; its host is ""'],
    ['//evil.com', null, 'the link of the template is not allowed; its host is ""'],
    ['https://app.example.com/{{ user.attributes.city }}', null, 'the link of the template is not allowed; its host is "app.example.com"'],
  ];
  const user = { id: 'ana', name: 'Ana', email: '', attributes: { city: 'New York' } };
  for (const [buttonUrl, url, warning] of cases) {
    it(`${url === null ? 'is left out, with a warning,' : 'is kept'} for ${String(buttonUrl)}`, async () => {
      const config = messageConfig({ linkHosts: ['shop.example.com'] }, [{ buttonUrl }]);
      const { html, text, warnings } = await email(config, messageVariables('recap', { user }));
      const push = await renderPush(config, messageVariables('recap', { user }));
      expect(push.url).to.equal(url);
      expect(warnings)
        .to.deep.equal(warning === undefined ? [] : [warning])
        .and.to.deep.equal(push.warnings);
      expect(text.includes('Continue')).to.equal(url !== null);
      if (url !== null) expect(html).to.include(`href="https://laurel.example/m/c/${encodeURIComponent(url)}"`);
      else expect(html).to.not.include('evil').and.not.include('javascript');
    });
  }

  it('is left out without a link and a brand', async () => {
    const { html, warnings } = await email(messageConfig({ brandUrl: null }), messageVariables('recap'));
    expect(html).to.not.include('m/c/');
    expect(warnings).to.deep.equal([]);
  });

  it('of a push notification is shorter, so that the payload fits', async () => {
    const config = messageConfig({}, [{ buttonUrl: `https://app.example.com/${'a'.repeat(limits.maxPushLinkChars)}` }]);
    const { url, warnings } = await renderPush(config, messageVariables('recap'));
    expect([url, warnings]).to.deep.equal([null, ['the link of the template is longer than 1000 characters']]);
  });
});

describe('The font of a brand', () => {
  for (const brandFont of brandFonts) {
    it(`is that of every text with ${brandFont}, and fits into an attribute`, async () => {
      const { html } = await email(messageConfig({ brandFont }), messageVariables('recap'));
      const stacks = new Set(Array.from(html.matchAll(/font-family:([^;]*);/g), ([, stack]) => stack));
      expect([...stacks]).to.deep.equal([fontStacks[brandFont]]);
      expect(fontStacks[brandFont]).to.match(/^[\w ,-]+(sans-serif|serif|monospace)$/);
    });
  }
});

describe('The colours of a brand', () => {
  for (const brand of [
    '#4f46e5',
    '#ffffff',
    '#000000',
    '#ffff00',
    '#777777',
    '#808080',
    '#ff0000',
    '#00ff00',
    '#0000ff',
    '#fefce8',
    '#101010',
  ]) {
    it(`can be read with ${brand}, as a background and as text`, () => {
      expect(contrast(brand, textOn(brand))).to.be.at.least(4.5);
      for (const backgrounds of [
        ['#ffffff', '#f4f5f7'],
        ['#20242c', '#16181d'],
      ] as const) {
        for (const background of backgrounds) expect(contrast(readableOn(brand, backgrounds), background)).to.be.at.least(4.5);
      }
    });
  }
});
