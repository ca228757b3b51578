import { uuidBytes } from '../redis/layout.js';
import { awardMomentBytes } from '../redis/layout.js';
import { AwardReader } from './stored-awards.js';

const dayMs = 86_400_000;
/** MessagePack's `false`. */
const no = 0xc2;

/** Bytes that an award takes at the most without its boosts, and one boost. */
const awardBytes = 256;
const boostBytes = 9;
/** Bytes in front of a text of any length, and how long one may be to be written character by character, which is faster then. */
const textHeadBytes = 5;
const shortText = 40;
const bytesPerChar = 3;
const lastAscii = 0x7f;

/** Lua hands a function at most 8,000 values. Even, so that a field stays with its value, and a score with its member. */
const valuesInCommand = 1_000;

/**
 * Commands of Redis as lua/restore.lua takes them. It writes MessagePack itself, and awards straight from what Postgres sent: they are two thirds of what
 * a restore writes, and this takes a third of the time that `packMessage` does and leaves nothing behind to be collected. Bytes are written as
 * MessagePack's texts, since Lua's cmsgpack does not know its type for bytes.
 */
export class CommandWriter {
  private buffer = Buffer.allocUnsafe(256 * 1024);
  private at = 0;
  private name = '';
  private key = '';
  /** Where it stands how many values the command has, and how many these are by now. */
  private countAt = -1;
  private count = 0;

  /** Everything so far. */
  done(): Buffer {
    this.noteCount();
    return this.buffer.subarray(0, this.at);
  }

  /** Forgets everything, and keeps the room for it. */
  clear(): this {
    [this.at, this.countAt] = [0, -1];
    return this;
  }

  /** Begins a command on a key; what is added then are its values. With many, it becomes several commands. */
  command(name: string, key: string): this {
    this.noteCount();
    [this.name, this.key, this.count] = [name, key, 0];
    this.putText(name);
    this.putText(key);
    this.makeRoom(3);
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
      this.makeRoom(textHeadBytes + value.length);
      this.putLength(this.at, value.length);
      this.at += textHeadBytes;
      this.at += value.copy(this.buffer, this.at);
    }
    return this;
  }

  /** Adds the awards of a list (stored-awards.ts), each a value as the function library writes it. */
  addAwards(list: Buffer): this {
    let [id, at, day] = [-1, 0, 0];
    for (const award = new AwardReader(list); award.next();) {
      this.countValue();
      this.makeRoom(awardBytes + award.boosts.length * boostBytes);
      const start = this.at;
      this.at += textHeadBytes;
      this.putAward(award, id >= 0 && award.at === at && award.day === day && award.hasIdAt(id));
      this.putLength(start, this.at - start - textHeadBytes);
      ({ idAt: id, at, day } = award);
    }
    return this;
  }

  private countValue(): void {
    if (this.count === valuesInCommand) this.command(this.name, this.key);
    this.count += 1;
  }

  private noteCount(): void {
    if (this.countAt >= 0) this.buffer.writeUInt16BE(this.count, this.countAt);
  }

  private putLength(at: number, length: number): void {
    this.buffer[at] = 0xdb;
    this.buffer.writeUInt32BE(length, at + 1);
  }

  private putText(text: string): void {
    this.makeRoom(textHeadBytes + bytesPerChar * text.length);
    if (text.length <= shortText && this.putShortText(text)) return;
    const length = this.buffer.write(text, this.at + textHeadBytes, 'utf8');
    this.putLength(this.at, length);
    this.at += textHeadBytes + length;
  }

  /** Returns false, and has written nothing, if the text has other characters than those of ASCII. */
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

  /** Writes an award (redis/layout.ts, `recentAward`); `isShared` when it has id, moment and day in common with the one before. */
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
    // As short as it is, a loop is faster than a copy.
    for (let i = 0; i < uuidBytes; i += 1) this.buffer[this.at++] = list[idAt + i] as number;
    this.at = this.buffer.writeIntBE(award.at, this.at, awardMomentBytes);
  }

  private makeRoom(count: number): void {
    if (this.at + count <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.buffer.length + count));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }

  /** As the function library writes it. */
  private putInteger(value: number): void {
    const { buffer } = this;
    if (value >= -0x20 && value < 0x80) {
      buffer[this.at++] = value & 0xff;
      return;
    }
    // What the value needs unsigned; a bit more below 0.
    const least = value < 0 ? -2 * value - 1 : value;
    const step = least <= 0xff ? 0 : least <= 0xffff ? 1 : least <= 0xffff_ffff ? 2 : 3;
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
