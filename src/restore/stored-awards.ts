import { dayMs } from '../shared/calendar.js';

/** The size of an award without its boosts. */
const fixedBytes = 52;
/** An array's head (number of dimensions, 0 if empty, and type), its dimension (length and lower bound), and an element with its length. */
const [arrayHeadBytes, dimensionBytes, elementBytes, elementHeadBytes] = [12, 8, 8, 4];
const idBytes = 16;
const uuid = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
/** The epoch of Postgres' timestamps and dates. */
const epochMs = Date.UTC(2000, 0, 1);
const epochDay = epochMs / dayMs;
const microsInMs = 1_000;

/** SQL: a row of `awards` as bytes for AwardReader. Sending numbers as text takes Postgres half as long again. */
export const awardAsBytes = `(uuid_send(event_id) || int4send(trigger) || int4send(ordinal) || int8send(awarded) || int8send(total)
    || timestamptz_send(at) || date_send(day) || array_send(boosts))`;

/** Reads the awards of a list one by one into its own fields, so that no object is allocated for each award. */
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
  /** The position of the event's id in the list. */
  idAt = 0;
  private position = 0;

  constructor(readonly list: Buffer) {}

  /** Reads the next award; false if there is none. */
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

  /** Whether the list has the same event id at another position. */
  hasIdAt(position: number): boolean {
    const { list, idAt } = this;
    for (let i = 0; i < idBytes; i += 1) if (list[position + i] !== list[idAt + i]) return false;
    return true;
  }

  /** The event's id and the other fields, separated by spaces. */
  text(): string {
    const id = this.list.toString('hex', this.idAt, this.idAt + idBytes).replace(uuid, '$1-$2-$3-$4-$5');
    return [id, this.trigger, this.ordinal, this.awarded, this.total, this.at, this.day, ...this.boosts].join(' ');
  }

  /** The elements of a non-empty array, behind its head. */
  private elements(): number[] {
    const { list, position } = this;
    const first = position + dimensionBytes;
    const elements = Array.from({ length: list.readInt32BE(position) }, (_, i) =>
      list.readInt32BE(first + i * elementBytes + elementHeadBytes),
    );
    this.position = first + elements.length * elementBytes;
    return elements;
  }

  /** An integer of eight bytes, exact up to 2^53. */
  private long(at: number): number {
    return this.list.readInt32BE(at) * 0x1_0000_0000 + this.list.readUInt32BE(at + 4);
  }
}
