/** Tickets of Expo whose receipts are read later, in Postgres. */
import type pg from 'pg';
import { numberArray, textArray } from '../../../postgres/arrays.js';

export interface Ticket {
  readonly ticket: string;
  readonly tenant: number;
  readonly user: string;
  /** As the user has it, prefix included. */
  readonly token: string;
}

export interface DueTicket extends Ticket {
  readonly created: Date;
}

export async function saveTickets(pool: pg.Pool, tickets: readonly Ticket[], created: Date, due: Date): Promise<void> {
  const columns = [
    textArray(tickets.map(({ ticket }) => ticket)),
    numberArray(tickets.map(({ tenant }) => tenant)),
    textArray(tickets.map(({ user }) => user)),
    textArray(tickets.map(({ token }) => token)),
  ];
  await pool.query({
    name: 'save-push-tickets',
    text: `insert into push_receipts (ticket, tenant, user_id, token, created, due)
           select *, $5, $6 from unnest($1::text[], $2::integer[], $3::text[], $4::text[]) on conflict (ticket) do nothing`,
    values: [...columns, created, due],
  });
}

/** Takes due tickets, the longest due first. If their receipts can't be read, they are due again at `next`. */
export async function takeDueTickets(pool: pg.Pool, now: Date, next: Date, max: number): Promise<DueTicket[]> {
  const { rows } = await pool.query<DueTicket>({
    name: 'take-push-tickets',
    text: `update push_receipts set due = $2
            where ticket in (select ticket from push_receipts where due <= $1 order by due limit $3 for update skip locked)
           returning ticket, tenant, user_id as user, token, created`,
    values: [now, next, max],
  });
  return rows;
}

export async function deleteTickets(pool: pg.Pool, tickets: readonly string[]): Promise<void> {
  await pool.query({
    name: 'delete-push-tickets',
    text: 'delete from push_receipts where ticket = any($1::text[])',
    values: [textArray(tickets)],
  });
}
