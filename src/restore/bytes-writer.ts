/** The name of a field, as MessagePack has short texts. */
const named = (name: string): Buffer => Buffer.concat([Buffer.from([0xa0 | name.length]), Buffer.from(name)]);
const mapOf = (fields: number): Buffer => Buffer.from([0x80 | fields]);

/** The id is a UUID, a text of 36 characters. */
const idChars = 36;
const beforeId = Buffer.concat([mapOf(2), named('id'), Buffer.from([0xd9, idChars])]);
const afterId = Buffer.concat([named('award'), mapOf(7)]);
/** The numbers of an award in the order of its text (stored-users.ts), without the boosts. */
const numbers = ['trigger', 'ordinal', 'awarded', 'total', 'at', 'day'].map(named);
const beforeBoosts = named('boosts');

/** Bytes that an award takes at the most without its boosts, and one boost. */
const awardBytes = 256;
const boostBytes = 9;
const [comma, minus, zero] = [44, 45, 48];

/**
 * The bytes that users hold, one after the other. It makes MessagePack of awards itself, straight from their text and as `packMessage` would: they
 * are two thirds of what a restore writes, and this takes a third of the time and leaves nothing behind to be collected.
 */
export class BytesWriter {
  private bytes = Buffer.allocUnsafe(256 * 1024);
  private at = 0;
  private text = '';
  private position = 0;

  /** Everything so far. */
  done(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  /** Adds bytes; returns how many. */
  add(part: Buffer): number {
    this.makeRoom(part.length);
    this.at += part.copy(this.bytes, this.at);
    return part.length;
  }

  /** Adds the awards of a list (stored-users.ts, `StoredUser.awards`); returns how many bytes each has. */
  addAwards(list: string): number[] {
    [this.text, this.position] = [list, 0];
    const lengths: number[] = [];
    for (; this.position < list.length; this.position += 1) {
      const start = this.at;
      this.putAward();
      lengths.push(this.at - start);
    }
    return lengths;
  }

  private putAward(): void {
    this.makeRoom(awardBytes);
    this.put(beforeId);
    this.at += this.bytes.write(this.text.slice(this.position, this.position + idChars), this.at, 'latin1');
    this.position += idChars;
    this.put(afterId);
    for (const name of numbers) {
      this.put(name);
      this.putInteger(this.nextInteger());
    }
    this.putBoosts();
  }

  private putBoosts(): void {
    const boosts: number[] = [];
    while (this.position < this.text.length && this.text.charCodeAt(this.position) !== comma) boosts.push(this.nextInteger());
    this.makeRoom(awardBytes + boosts.length * boostBytes);
    this.put(beforeBoosts);
    this.bytes[this.at] = 0xdc;
    this.at = this.bytes.writeUInt16BE(boosts.length, this.at + 1);
    for (const boost of boosts) this.putInteger(boost);
  }

  /** Reads the number that comes after a space. */
  private nextInteger(): number {
    const { text } = this;
    let position = this.position + 1;
    const isNegative = text.charCodeAt(position) === minus;
    if (isNegative) position += 1;
    let value = 0;
    for (let digit = text.charCodeAt(position) - zero; digit >= 0 && digit <= 9; digit = text.charCodeAt(position) - zero) {
      value = value * 10 + digit;
      position += 1;
    }
    this.position = position;
    return isNegative ? -value : value;
  }

  private makeRoom(count: number): void {
    if (this.at + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.bytes.length + count));
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }

  private put(part: Buffer): void {
    const { bytes } = this;
    let { at } = this;
    // As short as they are, a loop is faster than a copy.
    for (let i = 0; i < part.length; i += 1) bytes[at++] = part[i] as number;
    this.at = at;
  }

  private putInteger(value: number): void {
    const { bytes } = this;
    if (value >= 0 && value < 0x80) {
      bytes[this.at] = value;
      this.at += 1;
    } else if (value >= 0 && value <= 0xffff_ffff) {
      bytes[this.at] = 0xce;
      this.at = bytes.writeUInt32BE(value, this.at + 1);
    } else {
      bytes[this.at] = 0xd3;
      // Two's complement in two halves.
      const high = Math.floor(value / 0x1_0000_0000);
      this.at = bytes.writeInt32BE(high, this.at + 1);
      this.at = bytes.writeUInt32BE(value - high * 0x1_0000_0000, this.at);
    }
  }
}
