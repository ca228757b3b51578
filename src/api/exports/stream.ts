import { Readable } from 'node:stream';
import type { ActiveConfig } from '../../plan/active-config.js';
import type { OpenRows } from '../../shared/open-rows.js';
import { utcDate } from '../../shared/calendar.js';
import type { RouteResponse, Services } from '../route.js';
import { csvLine } from './csv.js';

export const formats = ['csv', 'ndjson'] as const;
export type Format = (typeof formats)[number];

export const mediaTypes: Readonly<Record<Format, string>> = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' };

/** A column of the CSV file. */
export type Column<T> = readonly [title: string, cell: (shown: T) => unknown];

/** What an export has of each row. */
export interface Exported<Row, T> {
  /** Names the file. */
  readonly name: string;
  readonly show: (config: ActiveConfig, row: Row) => T;
  readonly columns: (config: ActiveConfig) => readonly Column<T>[];
}

interface ExportOf {
  readonly services: Services;
  readonly tenant: number;
  readonly query: { readonly format: Format };
}

type Render<Row> = (rows: readonly Row[]) => string;

/** The first line of the file, and what makes lines of rows. */
function rendering<Row, T>(config: ActiveConfig, format: Format, { show, columns }: Exported<Row, T>): [head: string, Render<Row>] {
  if (format === 'ndjson') return ['', (rows) => rows.map((row) => `${JSON.stringify(show(config, row))}\n`).join('')];
  const all = columns(config);
  const line = (row: Row): string => {
    const shown = show(config, row);
    return csvLine(all.map(([, cell]) => cell(shown)));
  };
  return [csvLine(all.map(([title]) => title)), (rows) => rows.map(line).join('')];
}

/** Reads rows when the client has received those before, and closes them when it has all, or disconnects. */
function streamOf<Row>(rows: OpenRows<Row>, start: string, render: Render<Row>): Readable {
  const readOn = async (stream: Readable): Promise<void> => {
    try {
      const some = await rows.next();
      // Before the client has the end: it may ask for the next export at once.
      if (some.length === 0) await rows.close();
      stream.push(some.length === 0 ? null : render(some));
    } catch (error) {
      stream.destroy(error as Error);
    }
  };
  const stream = new Readable({
    read() {
      void readOn(this);
    },
    destroy(error, done) {
      rows.close().then(
        () => {
          done(error);
        },
        (closing: unknown) => {
          done(closing as Error);
        },
      );
    },
  });
  if (start !== '') stream.push(start);
  return stream;
}

/**
 * The response with all rows of an export. Whatever may be refused is refused before it: the first rows are read here. What fails later ends the
 * response without its last chunk, which clients report.
 */
export async function exportResponse<Row, T>(
  { services, tenant, query: { format } }: ExportOf,
  opening: Promise<OpenRows<Row>>,
  exported: Exported<Row, T>,
): Promise<RouteResponse> {
  const rows = await opening;
  try {
    const first = await rows.next();
    // Not earlier: another process may have counted an event under a newer configuration.
    const config = await services.engine.refreshConfig(tenant);
    const [head, render] = rendering(config, format, exported);
    const date = utcDate(await services.clock.now(tenant));
    const download = { type: mediaTypes[format], name: `laurel-${exported.name}-${date}.${format}` };
    return { status: 200, body: streamOf(rows, head + render(first), render), download };
  } catch (error) {
    await rows.close();
    throw error;
  }
}
