import { expect } from 'chai';
import fc from 'fast-check';
import { exportConfig } from '../../src/config/file/export.js';
import { type ConfigDocument, emptyConfig } from '../../src/config/schema/model.js';
import { validateConfig } from '../../src/config/check/validate.js';
import { limits } from '../../src/shared/limits.js';
import { apply, messageOf } from '../support/config.js';
import { documentSpecArbitrary } from '../support/model/arbitraries.js';
import { buildDocument } from '../support/model/documents.js';

/** A document without what every configuration has for itself: ids become keys, and numbers, moments and archived objects are left out. */
function comparable(document: ConfigDocument): unknown {
  const objects = [document.attributes, document.metrics, document.pointsSystems, document.achievements].flat();
  const keys = new Map(objects.map(({ id, key }) => [id, key]));
  const plain = JSON.parse(JSON.stringify(document)) as unknown;
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((one) => !isArchived(one)).map(strip);
    if (typeof value === 'string') return keys.get(value) ?? value;
    if (typeof value !== 'object' || value === null) return value;
    const own = Object.entries(value).filter(([field]) => !['id', 'no', 'nextNo', 'created', 'updated'].includes(field));
    return Object.fromEntries(own.map(([field, part]) => [field, strip(part)]));
  };
  return strip(plain);
}

const isArchived = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'archived' in value && value.archived === true;

/** A trigger is called by its key, which the model does not hold itself to. */
const named = (document: ConfigDocument): ConfigDocument => ({
  ...document,
  pointsSystems: document.pointsSystems.map((system) => ({
    ...system,
    triggers: system.triggers.map((trigger) => ({ ...trigger, name: trigger.key })),
  })),
});

describe('An exported configuration', () => {
  it('is the same configuration when it is applied to nothing, and changes nothing where it comes from', () => {
    fc.assert(
      fc.property(documentSpecArbitrary, (spec) => {
        const document = named(buildDocument(spec));
        // The model takes some that a file could not say.
        fc.pre(validateConfig(document).length === 0);
        const text = exportConfig(document);
        const elsewhere = apply(emptyConfig, text, { now: '2045-06-01T00:00:00.000Z' });
        expect(comparable(elsewhere.document)).to.deep.equal(comparable(document));
        expect(exportConfig(elsewhere.document)).to.equal(text);
        expect(apply(document, text).changes).to.deep.equal([]);
      }),
      { numRuns: 50 },
    );
  });

  it('keeps every text and number as it is', () => {
    const text = fc
      .oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
        fc.constantFrom(
          'null',
          'true',
          'on',
          '1e3',
          '0x10',
          '2040-01-01',
          ' a ',
          '- a',
          '# a',
          'a: b',
          'a\nb\n',
          '\t',
          '|',
          '>-',
          '&a',
          '*a',
          '~',
          "'",
          '"',
        ),
      )
      .filter((value) => !value.includes('\0') && value.isWellFormed() && value.trim() !== '');
    const ratio = fc.double({ min: 0, max: 1, noNaN: true });
    const threshold = fc.oneof(fc.double({ min: 1e-12, max: limits.maxAbsoluteTotal, noNaN: true }), fc.constant(1e15));
    fc.assert(
      fc.property(
        text,
        text,
        ratio,
        threshold,
        fc.option(fc.integer({ min: 1, max: 36_500 })),
        (name, other, controlRatio, value, days) => {
          const contents = {
            settings: { controlRatio, defaultTimeZone: 'Asia/Kolkata', idempotencyRetentionDays: days },
            attributes: [{ key: 'null', name: other, type: 'user' }],
            metrics: [{ key: '1e3', name, units: other }],
            points: [
              {
                key: 'p',
                name,
                description: other,
                levels: [
                  {
                    key: 'true',
                    name,
                    points: 0,
                    description: other,
                    badge: { url: `https://example.com/${encodeURIComponent(name)}` },
                  },
                ],
                boosts: [
                  {
                    key: '-',
                    name: 'B',
                    start: '2040-01-01',
                    multiplier: 0.000001,
                    userAttributes: [{ attributeKey: 'null', attributeValue: name }],
                  },
                ],
              },
            ],
            achievements: [{ key: 'a', name, trigger: 'metric', metricKey: '1e3', metricValue: value }],
            streaks: { enabled: true, metrics: [{ metricKey: '1e3', threshold: value }] },
          };
          expect(messageOf(emptyConfig, JSON.stringify(contents))).to.equal('');
          const { document } = apply(emptyConfig, JSON.stringify(contents));
          const again = apply(emptyConfig, exportConfig(document)).document;
          expect(comparable(again)).to.deep.equal(comparable(document));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('says that keys are kept for ever, so that it ends a shorter time where it is applied', () => {
    const short = apply(emptyConfig, 'settings: {idempotencyRetentionDays: 7}').document;
    const { document } = apply(short, exportConfig(emptyConfig));
    expect(document.settings.idempotencyRetentionDays).to.equal(null);
    expect(apply(short, 'settings: {weekStart: sunday}').document.settings.idempotencyRetentionDays).to.equal(7);
  });
});
