import { uuidBytes } from '../redis/layout.js';
import { awardMomentBytes } from '../redis/layout.js';
import { AwardReader } from './stored-awards.js';
import { dayMs } from '../shared/calendar.js';

/** MessagePack's `false`. */
const no = 0xc2;

/** The most bytes of an award without its boosts, and of one boost. */
const awardBytes = 256;
const boostBytes = 9;
/** The head of a string of any length, and the longest string that is faster to write character by character. */
const textHeadBytes = 5;
const shortText = 40;
const bytesPerChar = 3;
const lastAscii = 0x7f;

/** The size of an unsigned integer in MessagePack: 2^step bytes. */
function sizeStep(value: number): number {
  if (value <= 0xff) return 0;
  if (value <= 0xffff) return 1;
  return value <= 0xffff_ffff ? 2 : 3;
}

/** Lua passes at most 8,000 values to a function. Even, so that a field stays with its value, and a score with its member. */
const valuesInCommand = 1_000;

/**
 * Encodes Redis commands for lua/restore.lua. Writes MessagePack itself, and awards directly from what Postgres sent: they are two thirds of a
 * restore's data, and this takes a third of the time of `packMessage` and leaves no garbage. Bytes are written as MessagePack strings, since
 * Lua's cmsgpack does not know the binary type.
 */
export class CommandWriter {
  private buffer = Buffer.allocUnsafe(256 * 1024);
  private at = 0;
  private name = '';
  private key = '';
  /** The position of the command's value count, and the count so far. */
  private countAt = -1;
  private count = 0;

  /** The commands so far. */
  bytes(): Buffer {
    this.writeCount();
    return this.buffer.subarray(0, this.at);
  }

  /** Removes all commands and keeps the buffer. */
  clear(): this {
    this.at = 0;
    this.countAt = -1;
    return this;
  }

  /** Begins a command on a key, to which values can be added. Many values are split into several commands. */
  command(name: string, key: string): this {
    this.writeCount();
    this.name = name;
    this.key = key;
    this.count = 0;
    this.putText(name);
    this.putText(key);
    this.reserve(3);
    this.buffer[this.at] = 0xcd;
    this.countAt = this.at + 1;
    this.at += 3;
    return this;
  }

  /** Adds a value to the command. */
  add(value: string | Buffer): this {
    this.countValue();
    if (typeof value === 'string') {
      this.putText(value);
    } else {
      this.reserve(textHeadBytes + value.length);
      this.putLength(this.at, value.length);
      this.at += textHeadBytes;
      this.at += value.copy(this.buffer, this.at);
    }
    return this;
  }

  /** Adds the awards of a list (stored-awards.ts), each as a value in the function library's format. */
  addAwards(list: Buffer): this {
    let id = -1;
    let at = 0;
    let day = 0;
    const award = new AwardReader(list);
    while (award.next()) {
      this.countValue();
      this.reserve(awardBytes + award.boosts.length * boostBytes);
      const start = this.at;
      this.at += textHeadBytes;
      this.putAward(award, id >= 0 && award.at === at && award.day === day && award.hasIdAt(id));
      this.putLength(start, this.at - start - textHeadBytes);
      id = award.idAt;
      at = award.at;
      day = award.day;
    }
    return this;
  }

  private countValue(): void {
    if (this.count === valuesInCommand) this.command(this.name, this.key);
    this.count += 1;
  }

  private writeCount(): void {
    if (this.countAt >= 0) this.buffer.writeUInt16BE(this.count, this.countAt);
  }

  private putLength(at: number, length: number): void {
    this.buffer[at] = 0xdb;
    this.buffer.writeUInt32BE(length, at + 1);
  }

  private putText(text: string): void {
    this.reserve(textHeadBytes + bytesPerChar * text.length);
    if (text.length <= shortText && this.putShortText(text)) return;
    const length = this.buffer.write(text, this.at + textHeadBytes, 'utf8');
    this.putLength(this.at, length);
    this.at += textHeadBytes + length;
  }

  /** Returns false, and writes nothing, if the text is not ASCII. */
  private putShortText(text: string): boolean {
    const { buffer } = this;
    let at = this.at + 2;
    for (let i = 0; i < text.length; i += 1) {
      const char = text.charCodeAt(i);
      if (char > lastAscii) return false;
      buffer[at++] = char;
    }
    buffer[this.at] = 0xd9;
    buffer[this.at + 1] = text.length;
    this.at = at;
    return true;
  }

  /** Writes an award (redis/layout.ts, `recentAward`); `isShared` when it shares id, time and day with the previous one. */
  private putAward(award: AwardReader, isShared: boolean): void {
    if (isShared) this.buffer[this.at++] = no;
    else this.putInteger(award.day - Math.floor(award.at / dayMs));
    this.putInteger(award.trigger);
    this.putInteger(award.ordinal);
    this.putInteger(award.awarded);
    this.putInteger(award.total);
    for (const boost of award.boosts) this.putInteger(boost);
    if (isShared) return;
    const { list, idAt } = award;
    // For 16 bytes, a loop is faster than a copy.
    for (let i = 0; i < uuidBytes; i += 1) this.buffer[this.at++] = list[idAt + i] as number;
    this.at = this.buffer.writeIntBE(award.at, this.at, awardMomentBytes);
  }

  private reserve(count: number): void {
    if (this.at + count <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.buffer.length + count));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }

  /** Writes an integer in the function library's format. */
  private putInteger(value: number): void {
    const { buffer } = this;
    if (value >= -0x20 && value < 0x80) {
      buffer[this.at++] = value & 0xff;
      return;
    }
    // The unsigned value; one more bit below 0.
    const least = value < 0 ? -2 * value - 1 : value;
    const step = sizeStep(least);
    buffer[this.at] = (value < 0 ? 0xd0 : 0xcc) + step;
    if (step === 3) {
      // Two's complement in two halves.
      const high = Math.floor(value / 0x1_0000_0000);
      this.at = buffer.writeInt32BE(high, this.at + 1);
      this.at = buffer.writeUInt32BE(value - high * 0x1_0000_0000, this.at);
    } else if (value < 0) {
      this.at = buffer.writeIntBE(value, this.at + 1, 1 << step);
    } else {
      this.at = buffer.writeUIntBE(value, this.at + 1, 1 << step);
    }
  }
}
