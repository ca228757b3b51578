import { pageNumber } from '../scope/address.js';
import type { Read } from '../api/query-client.js';
import type { Address } from '../scope/use-address.js';
import { Loaded } from './states.js';
import { Pager, Table, type TableProps } from './table.js';

/** The page of a list that the address names (`?page=2`). Its read asks for one row more than it shows, to know whether another page follows. */
export interface Paging {
  readonly page: number;
  readonly rowsPerPage: number;
  /** The parameters of the read. */
  readonly range: { readonly limit: number; readonly skip: number };
  readonly go: (page: number) => void;
}

/** `name` is the parameter of the address: a screen with several lists has one for each. */
export function usePaging(address: Address, name = 'page', rowsPerPage = 25): Paging {
  const page = pageNumber(address.query[name]);
  return {
    page,
    rowsPerPage,
    range: { limit: rowsPerPage + 1, skip: (page - 1) * rowsPerPage },
    go: (to) => {
      address.change({ page: address.query['page'], [name]: to === 1 ? undefined : to });
    },
  };
}

export interface PagedTableProps<T> extends Omit<TableProps<T>, 'rows'> {
  readonly of: Read<readonly T[]>;
  readonly paging: Paging;
}

/** A list that the service pages. */
export function PagedTable<T>({ of, paging, empty, ...table }: PagedTableProps<T>) {
  return (
    <Loaded of={of}>
      {(rows) => (
        <>
          <Table {...table} rows={rows.slice(0, paging.rowsPerPage)} empty={paging.page === 1 ? empty : 'This page is empty.'} />
          <ListPager of={table.caption} paging={paging} rows={rows.length} />
        </>
      )}
    </Loaded>
  );
}

/** Moves between the pages of a list; `rows` is how many rows its read returned. */
export function ListPager({ of, paging, rows }: { readonly of: string; readonly paging: Paging; readonly rows: number }) {
  return (
    <Pager
      of={of}
      hasPrevious={paging.page > 1}
      hasNext={rows > paging.rowsPerPage}
      onPrevious={() => {
        paging.go(paging.page - 1);
      }}
      onNext={() => {
        paging.go(paging.page + 1);
      }}
      label={`Page ${paging.page}`}
    />
  );
}
