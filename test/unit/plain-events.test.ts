import { parse } from '@hapi/bourne';
import { expect } from 'chai';
import fc from 'fast-check';
import { eventSchema, plainEvent } from '../../src/api/events.js';
import { limits } from '../../src/shared/limits.js';

/** What JSON can hold. */
const anything = fc.jsonValue();
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom('', '.', '..', 'ana', 'a\u0000', 'a\n', '\ud800', 'é', '__proto__', 'constructor'),
  fc.constantFrom(limits.maxIdChars, limits.maxTextChars).chain((most) =>
    fc.constantFrom('x'.repeat(most), 'x'.repeat(most + 1), '😀'.repeat(most), '😀'.repeat(most + 1)),
  ),
);
const zones = fc.constantFrom('Europe/Lisbon', 'europe/lisbon', 'US/Eastern', 'UTC', '+02:00', 'Mars/Base', '');
const numbers = fc.oneof(
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.constantFrom(limits.maxAbsoluteTotal, -limits.maxAbsoluteTotal, limits.maxAbsoluteTotal * 2, Infinity, -0),
);
const attributes = fc.oneof(fc.dictionary(texts, texts), fc.dictionary(texts, anything), anything);
const user = fc.record(
  {
    id: fc.oneof({ weight: 8, arbitrary: texts }, anything),
    tz: fc.oneof({ weight: 8, arbitrary: zones }, anything),
    name: texts,
    attributes,
    more: anything,
  },
  { requiredKeys: [] },
);
const event = fc.record(
  {
    user: fc.oneof({ weight: 8, arbitrary: user }, anything),
    value: fc.oneof({ weight: 8, arbitrary: numbers }, anything),
    attributes,
    more: anything,
  },
  { requiredKeys: [] },
);
const bodies = fc
  .oneof({ weight: 8, arbitrary: event }, anything)
  .map((body) => parse(JSON.stringify(body), { protoAction: 'remove' }) as unknown);

describe('Plain events', () => {
  it('are valid, and as the schema returns them', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const plain = plainEvent(body);
        if (plain === undefined) return;
        const { success, data } = eventSchema.safeParse(body);
        expect({ success, data }).to.deep.equal({ success: true, data: plain });
      }),
      { numRuns: 5_000 },
    );
  });

  const plain: readonly unknown[] = [
    { user: { id: 'ana' }, value: 5 },
    { user: { id: 'ana', tz: 'Europe/Lisbon' }, value: -0.5, attributes: {} },
    { value: limits.maxAbsoluteTotal, attributes: { subject: 'spanish' }, user: { tz: 'UTC', id: 'x'.repeat(limits.maxIdChars) } },
  ];
  for (const body of plain) {
    it(`need no schema: ${JSON.stringify(body).slice(0, 100)}`, () => {
      expect(plainEvent(body)).to.deep.equal(body);
    });
  }

  const others: readonly unknown[] = [
    { user: { id: 'ana', tz: 'europe/lisbon' }, value: 5 },
    { user: { id: 'ana', tz: null }, value: 5 },
    { user: { id: 'ana', name: 'Ana' }, value: 5 },
    { user: { id: 'ana' }, value: 5, more: 1 },
  ];
  for (const body of others) {
    it(`leave the schema what it changes, or adds to: ${JSON.stringify(body)}`, () => {
      expect(plainEvent(body)).to.equal(undefined);
    });
  }
});
