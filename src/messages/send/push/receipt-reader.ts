import type pg from 'pg';
import { limits } from '../../../shared/limits.js';
import { own } from '../../../shared/own.js';
import type { ExpoTransport } from './expo.js';
import { type DueTicket, deleteTickets, takeDueTickets } from './receipts.js';

export interface ReceiptReaderOptions {
  readonly pool: pg.Pool;
  readonly expo: Pick<ExpoTransport, 'receipts'>;
  /** Removes a token that is no longer valid, prefix included. It may be called again for the same token, after a failure. */
  readonly onGone: (tenant: number, user: string, token: string) => Promise<void>;
  /** The current time in milliseconds. */
  readonly clock?: () => number;
}

/** What one page of receipts said. */
export interface ReceiptsRead {
  readonly delivered: number;
  /** Receipts with an error, by Expo's code, `DeviceNotRegistered` included. */
  readonly errors: Readonly<Record<string, number>>;
  /** Tickets without a receipt, of which Expo may have one later. */
  readonly missing: number;
  /** Whether more tickets may be due. */
  readonly hasMore: boolean;
}

/** Reads Expo's receipts: what Apple and Google responded, of which Expo's tickets know nothing. */
export class ReceiptReader {
  private readonly options: ReceiptReaderOptions;

  constructor(options: ReceiptReaderOptions) {
    this.options = options;
  }

  /** Reads one page of due receipts. Throws if Expo, Postgres or `onGone` fails; the tickets are then due again. */
  async read(): Promise<ReceiptsRead> {
    const { pool, expo } = this.options;
    const now = (this.options.clock ?? Date.now)();
    const due = await takeDueTickets(pool, new Date(now), new Date(now + limits.expoReceiptDelayMs), limits.expoReceiptsPage);
    if (due.length === 0) return { delivered: 0, errors: {}, missing: 0, hasMore: false };
    const receipts = await expo.receipts(due.map(({ ticket }) => ticket));
    const errors = new Map<string, number>();
    const finished: string[] = [];
    let delivered = 0;
    for (const row of due) {
      const receipt = own(receipts, row.ticket);
      if (receipt?.status === 'ok') delivered += 1;
      if (receipt?.status === 'error') {
        const code = receipt.details?.error ?? 'unknown';
        errors.set(code, (errors.get(code) ?? 0) + 1);
        if (code === 'DeviceNotRegistered') await this.options.onGone(row.tenant, row.user, row.token);
      }
      if (receipt || isExpired(row, now)) finished.push(row.ticket);
    }
    await deleteTickets(pool, finished);
    return {
      delivered,
      errors: Object.fromEntries(errors),
      missing: due.length - finished.length,
      hasMore: due.length === limits.expoReceiptsPage,
    };
  }
}

const isExpired = ({ created }: DueTicket, now: number): boolean => now - created.getTime() >= limits.expoReceiptLifetimeMs;
