import { expect } from 'chai';
import fc from 'fast-check';
import { bytesOfUuid, keyOfStored, storedKey, usedKey, usedKeyText, uuidOfBytes } from '../../src/redis/encoding.js';

describe('An idempotency key, as Redis has it', () => {
  for (const [what, key, bytes] of [
    ['a UUID in lower case is short', '0191b2c3-7a6b-4c5d-8e9f-001122334455', 23],
    ['a UUID in upper case is another key', '0191B2C3-7A6B-4C5D-8E9F-001122334455', 36],
    ['a UUID with more behind it stays as it is', '0191b2c3-7a6b-4c5d-8e9f-0011223344556', 37],
    ['any other stays as it is', 'order-17', 8],
  ] as const) {
    it(what, () => {
      const stored = storedKey(key);
      expect([Buffer.byteLength(stored), keyOfStored(stored)]).to.deep.equal([bytes, key]);
    });
  }

  it('comes back as it was, and no two are alike', () => {
    const keys = fc.oneof(fc.uuid(), fc.string({ minLength: 1, unit: 'grapheme-ascii' }));
    fc.assert(
      fc.property(keys, keys, (one, other) => {
        expect(keyOfStored(storedKey(one))).to.equal(one);
        expect(storedKey(one) === storedKey(other)).to.equal(one === other);
      }),
    );
  });

  it('notes the event and the moment in 22 bytes', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 0, max: 2 ** 48 - 1 }), (id, ms) => {
        expect(uuidOfBytes(bytesOfUuid(id))).to.equal(id);
        const value = usedKey(id, ms);
        expect([value.length, usedKeyText(value)]).to.deep.equal([22, `${id} ${ms}`]);
      }),
    );
  });
});
