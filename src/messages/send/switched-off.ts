import type { Logger } from 'pino';
import type pg from 'pg';
import { withPostgresErrors } from '../../postgres/failure.js';
import type { TextField } from '../render/defaults.js';
import type { OwnTemplate, SwitchedOff, TextOverrun } from '../render/rendering.js';

/**
 * The templates that no message is sent with, because a text of theirs passed the limits of rendering. A template that is changed is used again: what
 * is switched off is a template as of its last change.
 */
export class SwitchedOffTemplates {
  private readonly pool: pg.Pool;
  private readonly log: Logger;
  /** The field whose text passed the limits, by template. */
  private readonly known = new Map<string, TextField>();

  constructor(pool: pg.Pool, log: Logger) {
    this.pool = pool;
    this.log = log;
  }

  /** Those of a tenant, and those that this process switches off from now on. */
  async of(tenant: number): Promise<SwitchedOff> {
    const { rows } = await withPostgresErrors(
      this.pool.query<{ id: string; updated: string; field: TextField }>(
        'select template as id, template_updated as updated, field from switched_off_templates where tenant = $1',
        [tenant],
      ),
    );
    for (const row of rows) this.known.set(nameOf(tenant, row), row.field);
    return { fieldOf: (template) => this.known.get(nameOf(tenant, template)) };
  }

  /** Switches off a stored template. */
  async add(tenant: number, { template, field }: TextOverrun): Promise<void> {
    const { id, key, updated } = template;
    if (this.known.has(nameOf(tenant, template))) return;
    this.known.set(nameOf(tenant, template), field);
    await withPostgresErrors(
      this.pool.query(
        `insert into switched_off_templates (tenant, template, template_updated, field) values ($1, $2, $3, $4)
         on conflict (tenant, template) do update set template_updated = excluded.template_updated, field = excluded.field, at = now()`,
        [tenant, id, updated, field],
      ),
    );
    this.log.error({ tenant, template: key, field }, 'template switched off: it is too expensive to render');
  }
}

const nameOf = (tenant: number, { id = '', updated = '' }: Partial<Pick<OwnTemplate, 'id' | 'updated'>>): string =>
  `${tenant} ${id} ${updated}`;
