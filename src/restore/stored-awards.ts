/** Everything that an award has but boosts. */
const fixedBytes = 52;
/** Of an array: how many dimensions it has (none, if it is empty), and its type; then how long it is, and where it begins; and an element with its length. */
const [arrayHeadBytes, dimensionBytes, elementBytes, elementHeadBytes] = [12, 8, 8, 4];
const idBytes = 16;
const uuid = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
/** What Postgres counts its moments and days from. */
const epochMs = Date.UTC(2000, 0, 1);
const epochDay = epochMs / 86_400_000;
const microsInMs = 1_000;

/**
 * SQL: a row of `awards` as bytes, as AwardReader reads them. Making texts of the numbers, which are read and made into bytes again here, takes Postgres
 * half as long again.
 */
export const awardAsBytes = `(uuid_send(event_id) || int4send(trigger) || int4send(ordinal) || int8send(awarded) || int8send(total)
    || timestamptz_send(at) || date_send(day) || array_send(boosts))`;

/** Reads the awards of a list one after the other: each is what its fields say until the next is read, so that none need be made an object of. */
export class AwardReader {
  trigger = 0;
  ordinal = 0;
  awarded = 0;
  total = 0;
  /** Milliseconds since 1970. */
  at = 0;
  /** Days since 1970. */
  day = 0;
  boosts: readonly number[] = [];
  /** Where the list has the id of the event. */
  idAt = 0;
  private position = 0;

  constructor(readonly list: Buffer) {}

  /** Goes on to the next award; false if there is none. */
  next(): boolean {
    const { list, position } = this;
    if (position >= list.length) return false;
    this.idAt = position;
    this.trigger = list.readInt32BE(position + 16);
    this.ordinal = list.readInt32BE(position + 20);
    this.awarded = this.long(position + 24);
    this.total = this.long(position + 32);
    this.at = epochMs + this.long(position + 40) / microsInMs;
    this.day = epochDay + list.readInt32BE(position + 48);
    this.position = position + fixedBytes + arrayHeadBytes;
    this.boosts = list.readInt32BE(position + fixedBytes) === 0 ? [] : this.elements();
    return true;
  }

  /** Whether the list has the same id of an event in another place. */
  hasIdAt(place: number): boolean {
    const { list, idAt } = this;
    for (let i = 0; i < idBytes; i += 1) if (list[place + i] !== list[idAt + i]) return false;
    return true;
  }

  /** The id of the event, and what the other fields say, with a space between two. */
  text(): string {
    const id = this.list.toString('hex', this.idAt, this.idAt + idBytes).replace(uuid, '$1-$2-$3-$4-$5');
    return [id, this.trigger, this.ordinal, this.awarded, this.total, this.at, this.day, ...this.boosts].join(' ');
  }

  /** What follows the head of an array that is not empty. */
  private elements(): number[] {
    const { list, position } = this;
    const first = position + dimensionBytes;
    const elements = Array.from({ length: list.readInt32BE(position) }, (_, i) =>
      list.readInt32BE(first + i * elementBytes + elementHeadBytes),
    );
    this.position = first + elements.length * elementBytes;
    return elements;
  }

  /** A whole number of eight bytes, as far as a double holds it exactly. */
  private long(at: number): number {
    return this.list.readInt32BE(at) * 0x1_0000_0000 + this.list.readUInt32BE(at + 4);
  }
}
